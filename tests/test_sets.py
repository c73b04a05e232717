"""Sets of two items as inputs: which a record holds, their regression in closed form, and what a DEM makes of them."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cooccur.baskets import Baskets
from cooccur.errors import CooccurError
from cooccur.evaluation.removal import take_out
from cooccur.models import make_model
from cooccur.models import sets as of_records
from cooccur.models.dem import Dem
from cooccur.models.sets import check, with_sets
from cooccur.storage import load
from cooccur.training import sets
from cooccur.training.batches import Batch, record_weights
from cooccur.training.energy_learner import EnergyLearner
from model_files import apart, together

N = 9
STACK = "dem:hidden=none"


@cache
def secrets() -> tuple[Baskets, Baskets]:
    """Two letters and their sum modulo 12, nine times of ten: a letter by itself meets all numbers alike."""
    rng = np.random.default_rng(0)
    pairs = [rng.choice(12, 2, replace=False) for _ in range(3000)]
    sums = [sum(pair) % 12 if rng.random() < 0.9 else rng.integers(12) for pair in pairs]
    letters = "abcdefghijkl"
    baskets = Baskets.from_lists([[letters[i], letters[j], str(s)] for (i, j), s in zip(pairs, sums, strict=True)])
    return baskets[:2400], baskets[2400:]


@cache
def fitted(spec: str) -> Dem:
    model = make_model(spec).fit(secrets()[0])
    assert isinstance(model, Dem)
    return model


@given(st.lists(st.sets(st.integers(0, N - 1)), max_size=6), st.sets(st.sampled_from(list(combinations(range(N), 2)))))
def test_a_record_holds_the_sets_whose_items_it_holds(records: list[set[int]], chosen: set[tuple[int, int]]) -> None:
    pairs = sorted((j, i) if (i + j) % 2 else (i, j) for i, j in chosen)
    baskets = Baskets.from_matrix(np.array([[i in record for i in range(N)] for record in records]).reshape(-1, N))
    indptr, indices = with_sets(np.array(pairs, dtype=np.int32).reshape(-1, 2), N, baskets.indptr, baskets.indices)
    assert len(indptr) == len(records) + 1
    for r, record in enumerate(records):
        expected = [*sorted(record), *(N + u for u, pair in enumerate(pairs) if record >= set(pair))]
        assert indices[indptr[r] : indptr[r + 1]].tolist() == expected


@pytest.mark.parametrize("wrong", [[[1, 1]], [[0, 2], [0, 1]], [[0, 1], [0, 1]], [[0, 1], [1, 0]]])
def test_sets_that_are_none_or_out_of_order(wrong: list[list[int]]) -> None:
    check(np.array([[0, 1], [2, 0], [2, 1]], dtype=np.int32))
    with pytest.raises(ValueError, match="not different pairs of two items, rising"):
        check(np.array(wrong, dtype=np.int32))


@pytest.mark.parametrize("dense", [0.0, 2.0])
def test_the_closed_form_is_a_ridge_regression_for_each_item(dense: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "DENSE", dense)  # always by the dense product, and never
    baskets = Baskets.from_matrix(np.random.default_rng(1).random((80, N)) < 0.35)
    chosen = sets.frequent(baskets, 12)
    found = sets.closed_form(chosen, baskets)
    X = baskets.matrix.toarray().astype(float)
    Z = np.hstack([X, *(X[:, [i]] * X[:, [j]] for i, j in found.sets)])
    w = record_weights(baskets, 0.5).astype(float)
    m = w @ Z / len(Z)
    ridge = sets.L2 * baskets.nnz / (baskets.lengths > 0).sum()
    for t in range(N):
        seen = [z for z in range(Z.shape[1]) if z != t and (z < N or t not in found.sets[z - N])]
        A, y = Z[:, seen] - m[seen], X[:, t] - m[t]
        best = np.linalg.solve(A.T @ (w[:, None] * A) + ridge * np.eye(len(seen)), A.T @ (w * y))
        expected = m[t] + (Z[:, seen] - m[seen]) @ best
        np.testing.assert_allclose(found.scores(baskets)[:, t], expected, atol=1e-4)


def test_a_budget_keeps_the_largest_weights() -> None:
    baskets = secrets()[0]
    chosen = sets.frequent(baskets, 66)
    whole = sets.closed_form(chosen, baskets).W.toarray()
    cut = sets.closed_form(chosen, baskets, room=500).W.toarray()
    assert 450 < np.count_nonzero(cut) <= 500
    np.testing.assert_array_equal(cut[cut != 0], whole[cut != 0])
    assert np.abs(whole[cut == 0]).max() <= np.abs(cut[cut != 0]).min()


def test_the_budget_of_the_pairs_is_that_of_the_sets_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cooccur.training.assemble.BYTES_A_PAIR", 2000)
    model = make_model(f"{STACK},memory=1").fit(secrets()[0])
    assert isinstance(model, Dem)
    n = len(model.items_)
    assert 0 < model.starts_[-1] - model.starts_[n] <= 500 < fitted(STACK).starts_[-1] - fitted(STACK).starts_[n]


def test_what_two_items_say_together_is_found() -> None:
    _, test = secrets()
    last = take_out(test, test.indptr[:-1] + [int(np.argmax([name.isdigit() for name in names])) for names in test])
    hits = {}
    for spec in (STACK, f"{STACK},sets=no", "edlae", "dem"):
        first = fitted(spec) if spec.startswith("dem") else make_model(spec).fit(secrets()[0])
        suggested = first.complete_batch(last.rest, k=1).items[:, 0]
        hits[spec] = float((suggested == last.target).mean())
    assert hits[STACK] > 0.85, hits
    assert hits["dem"] > 0.85, hits
    assert max(hits[f"{STACK},sets=no"], hits["edlae"]) < hits[STACK] - 0.2, hits


def tastes() -> Baskets:
    """Long records, whose items depend on each other by two hidden tastes."""
    rng = np.random.default_rng(2)
    phi = rng.normal(size=(900, 2)) @ rng.normal(size=(2, 40)) + rng.normal(size=40)
    return Baskets.from_matrix(phi > rng.logistic(size=phi.shape))


def test_of_many_items_nets_start_bold_where_items_combine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cooccur.models.dem.AFFORDABLE", 1.0)
    begun: list[str] = []
    begin = Dem._begin
    monkeypatch.setattr(Dem, "_begin", lambda model, start: begun.append(start) or begin(model, start))
    for baskets, spec, start in (
        (secrets()[0], "dem", "bold"), (tastes(), "dem", "calm"), (secrets()[0], "dem:start=calm", "calm"),
    ):  # fmt: skip
        begun.clear()
        make_model(spec, epochs=1).fit(baskets)
        assert begun == [start, start]


def test_where_sets_overfit_it_is_the_model_without_them() -> None:
    baskets = tastes()
    models = [make_model(spec).fit(baskets) for spec in (STACK, f"{STACK},sets=no")]
    np.testing.assert_array_equal(models[0].scores(baskets), models[1].scores(baskets))
    assert len(models[0].sets_) == 0


def test_of_many_items_the_most_frequent_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    train, whole = secrets()[0], fitted(STACK)
    monkeypatch.setattr(sets, "MOST_ITEMS", 20)
    model = make_model(STACK).fit(train)
    assert isinstance(model, Dem)
    frequent = np.argsort(-train.frequencies, kind="stable")[:20]
    assert 20 < len(model.sets_) < len(whole.sets_)
    assert np.isin(model.sets_, frequent).all()


def test_where_most_items_can_have_none_sets_must_be_clearly_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "MOST_ITEMS", 20)
    monkeypatch.setattr(sets, "SHARE", 0.9)  # 20 of 24 are fewer
    for needed in (sets.AHEAD, 1000.0):
        monkeypatch.setattr(sets, "AHEAD", needed)
        model = make_model(STACK).fit(secrets()[0])
        assert isinstance(model, Dem)
        assert (len(model.sets_) > 0) == (needed < 1000)


def test_one_record_is_scored_like_many_and_after_a_load(tmp_path: Path) -> None:
    model, test = fitted(STACK), secrets()[1][:50]
    scores = model.scores(test)
    one_by_one = np.concatenate([model.scores(test[[r]]) for r in range(len(test))])
    np.testing.assert_allclose(scores, one_by_one, atol=1e-5)
    model.save(tmp_path / "secrets.model")
    np.testing.assert_array_equal(load(tmp_path / "secrets.model").scores(test), scores)


def test_reasons_tell_what_sets_do_in_combination() -> None:
    model = fitted(STACK)
    together_, apart_ = model.explain(["a", "b", "k"], "1"), model.explain(["a", "k"], "1")
    whole = float(model.log_odds(Baskets.from_lists([["a", "b", "k"]]))[0, model.number("1")])
    assert together_.score == pytest.approx(whole, abs=1e-4)
    assert together_.prior + sum(v for _, v in together_.shares) + together_.rest == pytest.approx(whole, abs=1e-4)
    assert dict(together_.hidden)["b"] == pytest.approx(together_.rest - apart_.rest, abs=1e-4)
    assert together_.rest > apart_.rest + 1


def test_files_of_earlier_formats_have_no_sets(tmp_path: Path) -> None:
    model, path = fitted(f"{STACK},sets=no"), tmp_path / "earlier.model"
    model.save(path)
    header, arrays = apart(path.read_bytes())
    del arrays["model.sets_"], header["params"]["sets"]
    path.write_bytes(together(header | {"format": 4}, arrays))
    np.testing.assert_array_equal(load(path).scores(secrets()[1]), model.scores(secrets()[1]))


def test_a_file_whose_rows_are_not_those_of_its_sets(tmp_path: Path) -> None:
    path = tmp_path / "wrong.model"
    fitted(STACK).save(path)
    header, arrays = apart(path.read_bytes())
    arrays["model.sets_"] = arrays["model.sets_"][:-1]
    path.write_bytes(together(header, arrays))
    with pytest.raises(CooccurError, match=r"damaged model file \(\d+ rows of 24 items and \d+ sets\)"):
        load(path)


def test_a_file_without_any_row(tmp_path: Path) -> None:
    path = tmp_path / "wrong.model"
    fitted(STACK).save(path)
    header, arrays = apart(path.read_bytes())
    arrays["model.starts_"] = arrays["model.starts_"][:0]
    path.write_bytes(together(header, arrays))
    with pytest.raises(CooccurError, match="damaged model file"):
        load(path)


def test_a_file_of_sets_that_weigh_nothing(tmp_path: Path) -> None:
    model, path = fitted(STACK), tmp_path / "empty.model"
    model.save(path)
    header, arrays = apart(path.read_bytes())
    arrays["model.starts_"] = np.zeros_like(arrays["model.starts_"])
    for name in ("model.columns_", "model.weights_"):
        arrays[name] = arrays[name][:0]
    path.write_bytes(together(header, arrays))
    empty = load(path)
    assert isinstance(empty, Dem)
    np.testing.assert_array_equal(empty.sets_, model.sets_)
    np.testing.assert_allclose(empty._scores(secrets()[1]) - model.b_, 0, atol=1e-6)


def test_a_look_up_costs_the_sets_of_the_rarer_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sets hold the frequent item 0, which is in every record; each is found by the other."""
    n = 400
    chosen = of_records.in_order(np.array([[0, i] for i in range(1, n)]), np.append(10**6, np.arange(n)[1:]))
    asked: list[int] = []
    repeat = np.repeat
    monkeypatch.setattr(of_records.np, "repeat", lambda a, times: asked.append(int(np.sum(times))) or repeat(a, times))
    records = [[0, i] for i in range(1, n)]
    indptr, indices = np.arange(0, 2 * n - 1, 2), np.array(records, dtype=np.int32).ravel()
    starts, found = with_sets(chosen, n, indptr, indices)
    np.testing.assert_array_equal(np.diff(starts), 3)
    np.testing.assert_array_equal(found.reshape(-1, 3)[:, 2], n + np.arange(n - 1))
    assert max(asked) <= 2 * len(records), asked


@pytest.mark.parametrize("portable", [False, True])
def test_learning_goes_on_with_the_rows_of_sets(portable: bool) -> None:
    """The sums and gradients of a step are those of all rows that speak in a record."""
    model, (train, _) = fitted(STACK), secrets()
    some = train[:20]
    batch = Batch(some.indptr, some.indices, np.ones(20, dtype=np.float32))
    learner = EnergyLearner(model, train, fresh=False, portable=portable)
    pairs = learner.energy.pairs
    assert pairs is not None
    assert learner.pairs is not None
    z = torch.zeros((20, train.n_items))
    pairs.add(z, batch)
    np.testing.assert_allclose(z.numpy(), model._scores(some) - model.b_, atol=1e-4)
    before, delta = learner.pairs.weights.copy(), np.random.default_rng(3).normal(size=z.shape).astype(np.float32)
    pairs.step(torch.from_numpy(delta), batch)
    if portable:
        pairs.back()  # type: ignore[union-attr]
    moved = np.sign(learner.pairs.weights - before)
    np.testing.assert_array_equal(moved, np.sign(_gradient(model, some, delta)))


def _gradient(model: Dem, baskets: Baskets, delta: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """(pairs,) the sum over records of delta[r, t], for each row that speaks in r and its targets t."""
    rows = np.repeat(np.arange(len(model.starts_) - 1), np.diff(model.starts_))
    sources = [[u] for u in range(len(model.items_))] + [list(pair) for pair in model.sets_]
    holds = np.array([baskets.matrix.toarray()[:, source].all(axis=1) for source in sources])
    return np.asarray([holds[row] @ delta[:, t] for row, t in zip(rows, model.columns_, strict=True)])


def test_what_learning_takes_is_in_the_estimate() -> None:
    wide = Baskets.from_lists([[f"{i + more}" for more in range(4)] for i in range(4000)])
    assert make_model(STACK).estimate(wide) > 4 * (wide.n_items + sets.MOST) ** 2
    assert make_model(f"{STACK},sets=no").estimate(wide) < 4 * (wide.n_items + sets.MOST) ** 2
    single = Baskets.from_lists([[f"{i}"] for i in range(4000)])  # no sets at all
    assert make_model(STACK).estimate(single) == make_model(f"{STACK},sets=no").estimate(single)


def test_records_are_looked_at_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    model, records = fitted(STACK), secrets()[1]
    whole = with_sets(model.sets_, records.n_items, records.indptr, records.indices)
    monkeypatch.setattr(of_records, "BLOCK", 7)
    parts = with_sets(model.sets_, records.n_items, records.indptr, records.indices)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_item_that_was_always_alone_says_nothing() -> None:
    train = secrets()[0]
    lonely = Baskets.from_lists([*train, *([["lonely"]] * 100)])
    model = make_model(STACK).fit(lonely)
    assert isinstance(model, Dem)
    assert len(model.sets_)
    scores = model._scores(Baskets.from_lists([["lonely"]]).with_vocabulary(model.items_)[0])
    np.testing.assert_array_equal(scores[0], model._shares())
    assert not model._affinity(model.number("lonely")).any()


def test_sets_that_say_the_same_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    train, without = secrets()[0], fitted(f"{STACK},sets=no")
    monkeypatch.setattr(sets, "L2", -1e6)  # no ridge that a matrix could be inverted with
    np.testing.assert_array_equal(make_model(STACK).fit(train).scores(train), without.scores(train))


def test_among_all_items_it_is_the_same_regression() -> None:
    train, test = secrets()
    kept = sets._most_frequent(train, 20)
    some = sets._among(train, kept)
    small = sets.closed_form(sets.frequent(some, 100), some)
    wide = sets._widened(small, kept, train)
    np.testing.assert_allclose(wide.scores(test)[:, kept], small.scores(sets._among(test, kept)), atol=1e-6)
    others = np.setdiff1d(np.arange(train.n_items), kept)
    np.testing.assert_allclose(
        wide.scores(test)[:, others], np.tile(train.frequencies[others] / len(train), (len(test), 1)), atol=1e-6
    )


def test_the_trial_is_of_frequent_items(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fitted(STACK)
    monkeypatch.setattr(sets, "FEW_ITEMS", 20)
    assert len(make_model(STACK).fit(secrets()[0]).sets_) == len(whole.sets_)  # type: ignore[attr-defined]
