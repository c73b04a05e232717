"""DEM and FVBM: the contract, and what is special about them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from contract import TOY, Contract, fitted, shop
from cooccur.baskets import Baskets
from cooccur.errors import InputError, ParameterError
from cooccur.evaluation.removal import hold_out, remove_items
from cooccur.models import dem, make_model
from cooccur.models.dem import Dem
from cooccur.models.fvbm import Fvbm
from cooccur.storage import load
from cooccur.synthetic import RECIPES
from cooccur.training import support
from cooccur.training.batches import Batch
from cooccur.training.energy_learner import EnergyLearner
from cooccur.training.history import Epoch
from cooccur.training.loop import validate

RANDOM = Baskets.from_matrix(np.random.default_rng(5).random((400, 30)) < 0.15)


class TestFvbm(Contract):
    spec = "fvbm"
    trained_by_steps = True


class TestDem(Contract):
    spec = "dem"
    trained_by_steps = True


def test_a_deep_model_sees_the_planted_recipes_and_no_pair_model_does() -> None:
    """Of the records that hold a whole recipe, one product is hidden; `pytest -s` shows how often it is found first."""
    train, test = shop()
    numbers = [[train.index[name] for name in names] for names, _ in RECIPES]
    kept = [(r, i) for r in range(len(test)) for triple in numbers if set(triple) <= set(test.row(r)) for i in triple]
    rests = Baskets.from_lists([[n for n in test.names(r) if n != test.items[i]] for r, i in kept])
    targets = [str(test.items[i]) for _, i in kept]
    assert len(kept) > 200

    def found(spec: str) -> float:
        batch = fitted(spec, False).complete_batch(rests, k=1)
        share = float(np.mean([batch.names(at)[:1] == [target] for at, target in enumerate(targets)]))
        print(f"{spec}: {share:.1%}")
        return share

    dem = found("dem")
    assert dem > 0.8
    for pair_model in ("fvbm", "ease", "lwcvg", "cvg", "mmmf:l2=2"):
        assert found(pair_model) < dem - 0.5, pair_model


def test_reasons_split_the_log_odds_exactly() -> None:
    model = fitted("dem", False)
    reason = model.explain(["flour", "eggs", "milk"], "maple syrup")
    levels = [  # what hidden layers say of all items alike is no reason for one
        model.explain(["flour", "eggs", "milk"], item).prior - float(model.b_[model.number(item)])
        for item in ("maple syrup", "coffee")
    ]
    assert levels[0] == pytest.approx(levels[1], abs=1e-5) != 0
    alone = model.explain(["flour"], "maple syrup")
    assert (alone.rest, alone.hidden) == (0, ())  # one item does nothing in combination
    assert alone.prior + alone.shares[0][1] == pytest.approx(alone.score)
    assert {name for name, _ in reason.shares} == {name for name, _ in reason.hidden} == {"flour", "eggs", "milk"}
    log_odds = model.log_odds(Baskets.from_lists([["flour", "eggs", "milk"]]))[0, model.number("maple syrup")]
    assert reason.prior + sum(v for _, v in reason.shares) + reason.rest == pytest.approx(float(log_odds), abs=1e-4)
    less = model.explain(["flour", "milk"], "maple syrup")
    assert dict(reason.hidden)["eggs"] == pytest.approx(reason.rest - less.rest, abs=1e-4)


def test_log_odds_of_a_records_own_items_leave_it_out() -> None:
    model = make_model("dem:hidden=8,epochs=2,validation=0").fit(RANDOM)
    phi = model.log_odds(RANDOM[:20])
    for record in range(20):
        for t in RANDOM.row(record).tolist():
            rest = Baskets.from_lists([[RANDOM.items[i] for i in RANDOM.row(record) if i != t]])
            assert phi[record, t] == pytest.approx(float(model.log_odds(rest)[0, t]), abs=1e-4)
    p = model.probabilities(RANDOM[:20])
    present = np.zeros_like(p, dtype=bool)
    present[np.repeat(np.arange(20), RANDOM[:20].lengths), RANDOM[:20].indices] = True
    by_hand = np.log(np.where(present, p, 1 - p).astype(np.float64)).sum(axis=1)
    np.testing.assert_allclose(model.pseudo_log_likelihood(RANDOM[:20]), by_hand, rtol=1e-4)


@pytest.mark.parametrize(
    "spec",
    ["fvbm", "fvbm:tied=yes", "fvbm:pair_decay=0.1", "fvbm:prior=counts,pair_decay=0.1", "dem:hidden=6x4,pairs=learned",
     "dem:hidden=6,negatives=5,pairs=learned", "dem:hidden=6,optimiser=sgd,pairs=learned", "dem:hidden=6,dropout=0.3",
     "dem:star", "dem:paper", "dem:hidden=6,start=free", "dem:hidden=6,pairs=no,negatives=5",
     "dem:hidden=6,start=free,negatives=9"],
)  # fmt: skip
def test_the_portable_path_gives_the_same_numbers(spec: str) -> None:
    """What other devices run, run on the CPU: the same parameters after three epochs."""
    model = make_model(spec)
    model.items_ = RANDOM.items
    if isinstance(model, Dem) and model.start == "free":
        model._begin("free")
        model._alone = True
    rates = np.ones(20, dtype=np.float32)
    learners = [EnergyLearner(model, RANDOM, fresh=True, portable=portable) for portable in (False, True)]
    losses = []
    for learner in learners:
        total = 0.0
        for start in range(0, 400, 20):
            part = RANDOM[start : start + 20]
            total += learner.step(Batch(part.indptr, part.indices, rates), 1.0)
        losses.append(total)
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    for learner in learners:
        learner.settled()
    one, two = (learner.learned() for learner in learners)
    for name, values in one.items():
        np.testing.assert_allclose(values, two[name], rtol=2e-3, atol=2e-4, err_msg=name)


def test_one_thread_or_two_the_whole_model_differs_by_rounding_only() -> None:
    """Measured: at most 3e-6 relative to the largest weight; dense products may sum in another order."""
    results = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        results.append(make_model("dem:hidden=16,epochs=3,validation=0").fit(RANDOM).scores(RANDOM))
    torch.set_num_threads(1)
    gap = np.nanmax(np.abs(results[0] - results[1])) / np.nanmax(np.abs(results[0]))
    assert gap < 1e-4


def test_partial_fit_goes_on_from_a_file_as_from_the_model(tmp_path: Path) -> None:
    """Of several nets the one that had learned last was what it went on with; the file does not know that."""
    train, _ = shop()
    model = make_model("dem:hidden=4,epochs=2").fit(train[:1500])
    model.save(tmp_path / "shop.model")
    seen: list[Epoch] = []
    one, two = model.partial_fit(train[:500]), load(tmp_path / "shop.model").partial_fit(train[:500])
    np.testing.assert_array_equal(one.scores(train[:50]), two.scores(train[:50]))
    make_model("fvbm:epochs=2").partial_fit(TOY, callbacks=[seen.append])
    assert len(seen) == 2


def test_partial_fit_goes_on() -> None:
    train, test = shop()
    model = make_model("dem:epochs=1,validation=0,schedule=constant").fit(train)
    before = model.pseudo_log_likelihood(test).mean()
    again = model.partial_fit(train, epochs=6)
    assert again is model
    assert model.pseudo_log_likelihood(test).mean() > before + 0.2
    with pytest.raises(InputError, match="1 items that the model does not know, 'unicorn' among them; fit it anew"):
        model.partial_fit([["milk", "unicorn"]])
    fresh = make_model("fvbm:epochs=1").partial_fit(TOY)
    assert fresh.complete(["milk"]).items


def test_ctrl_c_keeps_the_best_epoch() -> None:
    train, _ = shop()

    def interrupt(epoch: Epoch) -> None:
        if epoch.epoch == 2:
            raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="interrupted: the fit is being finished"):
        model = Fvbm(epochs=50, patience=50).fit(train, callbacks=[interrupt])
    assert model.interrupted
    assert len(model.history_.epochs) == 3
    tops = [epoch.top1 + epoch.top10 for epoch in model.history_.epochs]
    assert tops[model.history_.best] == max(tops)
    assert model.complete(["coffee"], k=1).items


def test_callbacks_can_end_the_training() -> None:
    seen: list[int] = []

    def second(epoch: Epoch) -> bool:
        seen.append(epoch.epoch)
        return epoch.epoch == 1

    Fvbm(epochs=50, validation=0.0).fit(TOY, callbacks=[second])
    assert seen == [0, 1]


def test_the_best_epoch_is_kept() -> None:
    """Trained far too long at far too high a rate, the last epoch is not the best, and is not what is kept."""
    train, _ = shop()
    model = Dem(epochs=8, patience=8, rate=0.3, schedule="constant", pairs="learned").fit(train)
    tops = [epoch.top1 + epoch.top10 for epoch in model.history_.epochs]
    assert model.history_.best == int(np.argmax(tops))
    _, removals = hold_out(train, model.validation, model.random_state, at_most=3000, removals=10_000)

    assert sum(validate(model._scores, removals)) == pytest.approx(max(tops), abs=1e-6)


def test_very_many_records_and_items_learn_from_drawn_absent_items(monkeypatch: pytest.MonkeyPatch) -> None:
    train, _ = shop()
    drawn: list[int] = []
    step = EnergyLearner.step
    monkeypatch.setattr(EnergyLearner, "step", lambda self, *given: (drawn.append(self.draws), step(self, *given))[1])
    monkeypatch.setattr(dem, "AFFORDABLE", 1e3)
    monkeypatch.setattr(dem, "DRAWN", 20)
    model = make_model("dem:hidden=16,pairs=no").fit(train)
    assert set(drawn) == {20}
    assert len(model.history_.epochs) <= dem.FEW_EPOCHS
    assert model.history_.epochs[-1].loss < model.history_.epochs[0].loss
    drawn.clear()
    make_model("dem:hidden=16,pairs=no,negatives=0,epochs=2").fit(train)
    assert set(drawn) == {0}  # all of them, where that was asked for


@pytest.mark.parametrize("spec", ["dem:hidden=8x4", "dem:hidden=8,dropout=0.2", "dem:hidden=8,start=free"])
def test_a_batch_of_empty_records_alone(spec: str) -> None:
    """They have no item to leave out, but all are absent; and a model is asked about no record at all."""
    model = make_model(f"{spec},epochs=2,batch=1,pairs=no").fit([["a", "b"], ["b", "c"], ["a", "c"], []] * 100)
    before = model.b_.copy()
    model.partial_fit([[]])
    assert np.isfinite(model.b_).all()
    assert (model.b_ < before).all()
    assert model.scores([]).shape == (0, 3)


@pytest.mark.parametrize("records", [1, dem.FEWEST - 1, dem.FEWEST, 60, 200])
def test_few_records(records: int) -> None:
    """Too few to weigh nets on: the pair term alone, chosen on the training records; too few for that: learned."""
    train, test = shop()
    few = train[np.flatnonzero(train.lengths >= 2)[:records]]
    model = make_model("dem").fit(few)
    stack = records >= dem.FEWEST
    assert len(model.strengths_) == (4 if stack else 1)  # popularity is one of them
    assert bool(model.R_.shape[1]) != stack
    assert (model.calibration_ is not None) == stack
    assert np.isfinite(model.log_odds(test[:50])).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "records",
    [
        [["a", "b"]] * 30,
        [["a", "b"], ["a"], ["b"]] * 30,
        [["a", "b"], ["b", "c"], ["a", "c"]] * 10,
        [["a", "b"]] * 29 + [["c", "d"]],
        [[f"a{n}", f"b{n}"] for n in range(30)],
        [[f"i{n}" for n in range(14) if n != left % 14] for left in range(60)],
        [["a", "b"]] * 400,
    ],
    ids=["identical", "two items", "triangle", "one different", "disjoint", "all but one", "many identical"],
)
def test_records_that_leave_nothing_to_choose(records: list[list[str]]) -> None:
    model = make_model("dem:epochs=2").fit(Baskets.from_lists(records))
    assert np.abs(model.log_odds(Baskets.from_lists(records[:20]))).max() < 40
    assert len(model.complete([records[0][0]], k=1).items) == 1


def test_where_items_hardly_meet_dem_leans_on_popularity() -> None:
    """With 60 records of 300 items the closed form that has no bias is far behind."""
    share, value = 1 / np.arange(1, 301), {"dem": 0.0, "popularity": 0.0, "edlae": 0.0}
    for seed in (1, 2, 3):
        rng = np.random.default_rng(seed)
        drawn = [rng.choice(300, rng.integers(2, 6), replace=False, p=share / share.sum()) for _ in range(1060)]
        baskets = Baskets.from_lists([[str(i) for i in row] for row in drawn])
        asked = remove_items(baskets[60:], seed=1)
        for spec in value:
            value[spec] += sum(validate(make_model(spec).fit(baskets[:60])._scores, asked)) / 3
    assert value["dem"] > value["popularity"] - 5 > value["edlae"] + 5, value


def test_with_few_records_dem_keeps_up_with_its_rivals() -> None:
    train, test = shop()
    few, asked = train[:200], remove_items(test, seed=3)
    value = {
        spec: sum(validate(make_model(spec).fit(few)._scores, asked))
        for spec in ("dem", "ease", "edlae", "lwcvg", "fvbm")
    }
    print(value)
    assert value["dem"] > max(value.values()) - 2


def test_support_within_a_budget() -> None:
    whole = support.choose(RANDOM, 1)
    assert whole.found == len(whole.columns) == support.estimate(RANDOM).sum()
    half = support.choose(RANDOM, whole.found * support.BYTES_A_PAIR / 2e6)
    assert 0.4 * whole.found < len(half.columns) <= 0.5 * whole.found + 30
    assert half.found == whole.found
    dense = np.zeros((30, 30))
    for i in range(30):
        dense[i, half.columns[half.starts[i] : half.starts[i + 1]]] = 1
        assert (np.diff(half.columns[half.starts[i] : half.starts[i + 1]]) > 0).all()
    assert not dense.diagonal().any()
    said: list[str] = []
    support.choose(RANDOM, 0.002, lambda share, words: said.append(words))
    assert said == ["pairs: 868 occur, 0 MB of a budget of 0 MB: the most informative 12% of each item are kept"]


def test_the_prior_forgets_the_record_at_hand() -> None:
    """A pair that met once, in this very record, says nothing about this record."""
    train = Baskets.from_lists([["a", "b"], ["b", "c"], ["c", "a"], ["a", "c"]])
    model = Fvbm(prior="counts")
    model.items_ = train.items
    learner = EnergyLearner(model, train, fresh=True)
    pairs = learner.energy.pairs
    record = Batch(np.array([0, 2]), np.array([0, 1], dtype=np.int32), np.ones(1, dtype=np.float32))
    z = torch.zeros(1, 3)
    pairs.add(z, record)
    assert z[0, 1] != 0
    np.testing.assert_allclose(pairs.inside(record, z).numpy(), [0, 0], atol=1e-6)


def test_bad_parameters() -> None:
    for spec, message in [
        ("dem:hidden=32y", "dem: hidden = '32y'; expected widths such as 64 or 32x16, or none"),
        ("dem:hidden=none,bias=no,pairs=no", "dem: no bias, no pairs and no hidden layer; keep one of them"),
        ("dem:epochs=0", "dem: epochs = 0; expected whole number 1 or more"),
        ("fvbm:prior=magic", "fvbm: prior = 'magic'; expected none, counts"),
    ]:
        with pytest.raises(ParameterError) as caught:
            make_model(spec)
        assert str(caught.value) == message
    with pytest.raises(ParameterError, match=r"device = 'abacus' is not to be had here .*; expected cpu, cuda, mps"):
        Fvbm(device="abacus").fit(TOY)


def test_completing_from_a_file_imports_neither_torch_nor_numba(tmp_path: Path) -> None:
    make_model("dem:hidden=4,epochs=1").fit(TOY).save(tmp_path / "toy.model")
    code = (
        "import sys; from cooccur.cli import main; "
        f"main(['complete', {str(tmp_path / 'toy.model')!r}, 'milk', '--explain']); "
        "print([m for m in ('torch', 'numba', 'scipy', 'polars', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.parametrize("spec", ["dem:hidden=none", "dem:hidden=8,epochs=2"])
@pytest.mark.parametrize("basket", [[], ["lonely"], ["never", "lonely"]])
def test_a_basket_of_which_nothing_is_known_gets_what_is_frequent(spec: str, basket: list[str]) -> None:
    """Parts are weighed on records that they know something of; with popularity below 0 others got what is rarest."""
    train, _ = shop()
    records = Baskets.from_lists([*train[:2000], *[["lonely"]] * 5])
    items = [*records.items, "never"]
    model = make_model(spec).fit(Baskets(records.indptr, records.indices, items))
    answer = model.complete(basket, k=len(items))
    number = {name: i for i, name in enumerate(items)}
    shares = np.array([model.frequencies_[number[name]] / 2005 for name in answer.items])
    assert (np.diff(shares) <= 0).all()
    np.testing.assert_allclose([suggestion.probability for suggestion in answer], shares, atol=0.001)
    reason = model.explain(basket, answer.items[0])
    assert reason.score == pytest.approx(answer.suggestions[0].score)
    assert reason.score == pytest.approx(reason.prior)
    assert {name for name, _ in reason.shares} == set(basket)


@pytest.mark.parametrize("spec", ["dem:hidden=none", "dem:hidden=8,epochs=2"])
def test_what_was_never_seen_is_suggested_last(spec: str) -> None:
    train, held = shop()
    never = [f"never {i}" for i in range(20)]
    model = make_model(spec).fit(Baskets(train.indptr, train.indices, [*train.items, *never]))
    for basket in list(held[:100]):
        answer = model.complete(basket, k=len(model.items_)).items
        assert all(item.startswith("never") for item in answer[-20:])


def test_without_a_bias_one_unit_starts_as_it() -> None:
    """Else the few units of a DEM* all become always on: three of them stayed at popularity."""
    train, test = shop()
    model = make_model("dem:star,hidden=3")
    learner = EnergyLearner(model, train, fresh=True)
    energy = learner.energy
    nothing = energy.hidden(torch.zeros(1, 3)) @ energy.R.T
    share = (train.frequencies + 0.5) / (len(train) + 1)
    np.testing.assert_allclose(nothing.detach().numpy()[0], np.log(share / (1 - share)), rtol=1e-4)
    removals = remove_items(test, 1, 0)
    specs = ("popularity", "dem:star,hidden=3")
    popular, star = (validate(make_model(spec).fit(train)._scores, removals)[0] for spec in specs)
    assert star > 1.1 * popular
