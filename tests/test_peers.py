"""The peers of today, each against its formula in plain dense numpy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from contract import TOY, Contract, shop
from cooccur.baskets import Baskets
from cooccur.errors import CooccurError, ParameterError
from cooccur.evaluation.removal import remove_items
from cooccur.models import ials as ials_module
from cooccur.models import make_model
from cooccur.models.ease import Ease
from cooccur.models.edlae import Edlae
from cooccur.models.ials import Ials
from cooccur.models.multvae import MultVae
from cooccur.models.neighbours import ItemKnn, Rp3Beta
from cooccur.storage import load
from cooccur.training.batches import Batch
from cooccur.training.loop import validate
from cooccur.training.multvae_learner import MultinomialAutoencoder, MultVaeLearner
from cooccur.training.samples import draw_items
from model_files import apart, together

Matrix = npt.NDArray[np.float64]
NO_IMPLICIT = "learning iALS needs `pip install cooccur[peers]`"
RECORDS = np.random.default_rng(1).random((60, 9)) < np.linspace(0.6, 0.15, 9)
RECORDS[:, 8] = False  # the last item is in none of them
RECORDS[RECORDS.sum(axis=1) == 0, 0] = True
X = RECORDS.astype(float)
DATA = Baskets.from_matrix(RECORDS)


class TestEdlae(Contract):
    spec = "edlae"


class TestEdlaePlain(Contract):
    spec = "edlae:plain"


class TestItemKnn(Contract):
    spec = "itemknn"


class TestRp3Beta(Contract):
    spec = "rp3beta"


class TestIals(Contract):
    spec = "ials:factors=32,unobserved=1,iterations=8"
    trained_by_steps = True  # the order changes rounding: see test_the_order_of_records_changes_rounding_only

    @pytest.fixture(autouse=True)
    def _package(self) -> None:
        pytest.importorskip("implicit", reason=NO_IMPLICIT)


class TestMultVae(Contract):
    spec = "multvae:beta=0,dropout=0.3,rate=0.01,hidden=64x32"  # the records are short: less noise finds the recipes
    trained_by_steps = True


# -- edlae ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("centred", [False, True])
def test_edlae_minimises_the_mean_error_over_all_ways_to_drop(centred: bool) -> None:
    """For each target, least squares over every record under every one of the 2^7 masks, weighted by its chance."""
    p, l2, few = 0.3, 2.0, X[:, :8]
    model = Edlae(l2=l2, dropout=p, centred=centred).fit(RECORDS)
    masks = np.array(np.meshgrid(*[[0, 1]] * 7)).reshape(7, -1).T
    chance = np.prod(np.where(masks, 1 - p, p), axis=1)
    for t in (0, 3, 7):
        others = np.delete(few, t, axis=1)
        inputs = (masks[:, None, :] * others[None] / (1 - p)).reshape(-1, 7)
        weight, target = np.repeat(chance, len(few)), np.tile(few[:, t], len(masks))
        if centred:  # an intercept without a bound on it: deviations from the weighted means
            inputs = inputs - weight @ inputs / weight.sum()
            target = target - weight @ target / weight.sum()
        best = np.linalg.solve(inputs.T @ (weight[:, None] * inputs) + l2 * np.eye(7), inputs.T @ (weight * target))
        np.testing.assert_allclose(np.delete(model.B_[:, t], t), best, atol=1e-5)
        assert model.B_[t, t] == 0


def test_edlae_without_dropout_is_ease() -> None:
    np.testing.assert_array_equal(Edlae(dropout=0).fit(DATA).B_, Ease(centred=Edlae().centred).fit(DATA).B_)
    assert np.abs(Edlae(dropout=0.5).fit(DATA).B_).sum() < np.abs(Edlae(dropout=0.1).fit(DATA).B_).sum()


def test_edlae_keeps_the_most_frequent_items() -> None:
    model = Edlae(max_items=4, l2=3).fit(DATA)
    most = np.sort(np.argsort(-DATA.frequencies, kind="stable")[:4])
    assert model.kept_.tolist() == most.tolist()
    np.testing.assert_allclose(model.B_, Edlae(l2=3).fit(RECORDS[:, most]).B_, atol=1e-6)


# -- neighbours -------------------------------------------------------------------------------------


def dense(model: ItemKnn | Rp3Beta) -> Matrix:
    W = np.zeros((9, 9))
    for i in range(9):
        row = slice(model.starts_[i], model.starts_[i + 1])
        assert (np.diff(model.columns_[row]) > 0).all()
        W[i, model.columns_[row]] = model.weights_[row]
    return W


def cosine(shrink: float, alpha: float, length: float) -> Matrix:
    weighted = X * X.sum(axis=1, keepdims=True) ** (-length / 2)
    square = (weighted**2).sum(axis=0)
    below = np.outer(square**alpha, square ** (1 - alpha)) + shrink
    W = np.divide(weighted.T @ weighted, below, out=np.zeros((9, 9)), where=below > 0)
    np.fill_diagonal(W, 0)
    return W


def walk(alpha: float, beta: float) -> Matrix:
    n, L = np.maximum(X.sum(axis=0), 1), X.sum(axis=1)
    to_record, to_item = (X / n).T ** alpha, (X / L[:, None]) ** alpha
    W = to_record @ to_item / n**beta
    np.fill_diagonal(W, 0)
    return W


def pruned(W: Matrix, k: int) -> Matrix:
    """The k largest of each row, by sorting."""
    kept = np.zeros_like(W)
    for row, out in zip(W, kept, strict=True):
        best = np.argsort(-row, kind="stable")[:k]
        out[best] = row[best]
    return kept


@pytest.mark.parametrize(("shrink", "alpha", "length"), [(0, 0.5, 0), (0, 0.5, 1), (3, 0.5, 0.5), (1, 0.8, 1)])
def test_itemknn(shrink: float, alpha: float, length: float) -> None:
    W = cosine(shrink, alpha, length)
    settings = {"shrink": shrink, "alpha": alpha, "length": length}
    np.testing.assert_allclose(dense(ItemKnn(**settings).fit(DATA)), W, rtol=1e-5)
    few = ItemKnn(**settings, neighbours=3, of="source").fit(DATA)
    np.testing.assert_allclose(dense(few), pruned(W, 3), rtol=1e-5)
    few = ItemKnn(**settings, neighbours=3, of="target").fit(DATA)
    np.testing.assert_allclose(dense(few), pruned(W.T, 3).T, rtol=1e-5)
    v = np.array([[0, 1, 0, 1, 0, 0, 0, 0, 0]])
    expected = np.where(v, np.nan, v @ pruned(W.T, 3).T)
    np.testing.assert_allclose(few.scores(v), expected, rtol=1e-5)


@pytest.mark.parametrize(("alpha", "beta"), [(1, 0.2), (0.6, 0.4), (1.3, 1)])
def test_rp3beta(alpha: float, beta: float) -> None:
    W = walk(alpha, beta)
    np.testing.assert_allclose(dense(Rp3Beta(alpha=alpha, beta=beta).fit(DATA)), W, rtol=1e-5)
    settings = {"alpha": alpha, "beta": beta, "neighbours": 4, "of": "source"}
    few = pruned(W, 4)
    np.testing.assert_allclose(dense(Rp3Beta(**settings).fit(DATA)), few, rtol=1e-5)
    scaled = few[:8] / few[:8].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(dense(Rp3Beta(**settings, scale=True).fit(DATA))[:8], scaled, rtol=1e-5)


def test_a_whole_walk_is_a_distribution() -> None:
    """With alpha = 1 and beta = 0 the rows are chances: with the way back to the item itself they sum to one."""
    back = (X / np.maximum(X.sum(axis=0), 1) / X.sum(axis=1, keepdims=True)).sum(axis=0)
    total = dense(Rp3Beta(alpha=1, beta=0).fit(DATA)).sum(axis=1)
    np.testing.assert_allclose((total + back)[:8], 1, rtol=1e-5)


def test_neighbours_of_an_item_do_not_depend_on_beta() -> None:
    found = [Rp3Beta(beta=beta, neighbours=40).fit(shop()[0]).similar_items("coffee", k=39) for beta in (0, 1)]
    assert found[0].items == found[1].items
    np.testing.assert_allclose(*[[s.score for s in each] for each in found], rtol=1e-4)


# -- ials -------------------------------------------------------------------------------------------


def turn(V: Matrix, F: Matrix, a: float, l2: float, nu: float) -> Matrix:
    """One half-turn, record by record, from the objective's own normal equations."""
    found = []
    for v in V:
        weight = a + v  # 1 + a where present; the target is 1 there with weight 1, and 0 with weight a everywhere
        ridge = l2 * (v.sum() + a * len(v)) ** nu
        found.append(np.linalg.solve(F.T @ (weight[:, None] * F) + ridge * np.eye(F.shape[1]), F.T @ v))
    return np.array(found)


@pytest.mark.parametrize(("a", "l2", "nu"), [(0.1, 0.01, 1.0), (0.5, 0.3, 0.0), (2.0, 0.05, 0.5)])
def test_ials(a: float, l2: float, nu: float, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("implicit", reason=NO_IMPLICIT)
    model = Ials(factors=3, unobserved=a, l2=l2, scaling=nu, iterations=3).fit(DATA)
    F = np.random.default_rng(0).normal(scale=0.1 / np.sqrt(3), size=(9, 3))
    for _ in range(3):
        F = turn(X.T, turn(X, F, a, l2, nu), a, l2, nu)
    np.testing.assert_allclose(model.F_, F, atol=1e-4 * np.abs(F).max())
    monkeypatch.setattr(ials_module, "CELLS", 3 * 9 * 2)  # two records at once
    wanted = np.where(RECORDS, np.nan, turn(X, F, a, l2, nu) @ F.T)
    np.testing.assert_allclose(model.scores(DATA), wanted, atol=2e-4)


def test_without_scaling_it_is_the_package_as_it_is() -> None:
    """`AlternatingLeastSquares.fit` with weights (1 + a) / a of what is present, from the same start."""
    als = pytest.importorskip("implicit.cpu.als", reason=NO_IMPLICIT)
    limits = pytest.importorskip("threadpoolctl").threadpool_limits
    a, l2, d = 0.25, 0.1, 3
    model = Ials(factors=d, unobserved=a, l2=l2, scaling=0, iterations=4).fit(DATA)
    with limits(1, "blas"):
        peer = als.AlternatingLeastSquares(
            factors=d, alpha=(1 + a) / a, regularization=l2 * (1 + a) / a, use_cg=False, iterations=4
        )
        start = np.random.default_rng(0).normal(scale=0.1 / np.sqrt(d), size=(9, d))
        # its targets are 1 where ours are 1 / (1 + a): both of its factors are sqrt(1 + a) times ours
        peer.item_factors = (start * np.sqrt(1 + a)).astype(np.float32)
        peer.fit(DATA.matrix, show_progress=False)
        new = peer.recalculate_user(np.arange(len(DATA)), DATA.matrix)
    wanted = np.where(RECORDS, np.nan, new @ peer.item_factors.T / (1 + a))
    np.testing.assert_allclose(model.scores(DATA), wanted, atol=1e-4)


def test_the_weight_of_absence_and_l2_are_chosen_on_held_out_records(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("implicit", reason=NO_IMPLICIT)
    monkeypatch.setattr(ials_module, "WEIGHTS", (1e-6, 0.3))  # nothing speaks against an absent item
    monkeypatch.setattr(ials_module, "BOUNDS", (0.001, 0.05))  # 0.001 learns the shop's records by heart
    records = shop()[0][:3000]
    chosen = Ials(factors=20, iterations=1).fit(records)
    assert (chosen.unobserved_.tolist(), chosen.l2_.tolist()) == ([0.3], [0.05])
    assert chosen.F_.shape == (records.n_items, 20)
    spelled = Ials(factors=16, iterations=1, unobserved=2, l2=0.2).fit(TOY)
    assert (spelled.unobserved_.tolist(), spelled.l2_.tolist()) == ([2], [0.2])


def test_sparse_records_want_a_small_weight_of_absence() -> None:
    """300 shelves of ten items, three of them in a record: an absent item is hardly ever one that is not wanted."""
    pytest.importorskip("implicit", reason=NO_IMPLICIT)
    rng = np.random.default_rng(0)
    lists = [[f"{shelf}/{item}" for item in rng.permutation(10)[:3]] for shelf in rng.integers(300, size=6000)]
    learn, asked = Baskets.from_lists(lists[:5000]), lists[5000:]
    hits = {}
    for unobserved in (None, 1.0):
        model = Ials(factors=64, unobserved=unobserved).fit(learn)
        found = [model.complete(basket[:2], k=8).items for basket in asked[:300]]
        hits[unobserved] = np.mean([basket[2] in items for basket, items in zip(asked, found, strict=False)])
    assert hits[None] > hits[1.0] + 0.1, hits


def test_a_file_of_an_earlier_format_has_the_weight_it_was_spelled_with(tmp_path: Path) -> None:
    pytest.importorskip("implicit", reason=NO_IMPLICIT)
    model = Ials(factors=3, unobserved=0.7).fit(DATA)
    path = tmp_path / "ials.model"
    model.save(path)
    header, arrays = apart(path.read_bytes())
    del arrays["model.unobserved_"]
    path.write_bytes(together(header | {"format": 3}, arrays))
    np.testing.assert_array_equal(load(path).scores(DATA), model.scores(DATA))
    path.write_bytes(together(header, arrays))
    with pytest.raises(CooccurError, match="damaged model file"):
        load(path)


def test_the_order_of_records_changes_rounding_only() -> None:
    pytest.importorskip("implicit", reason=NO_IMPLICIT)
    one, two = (Ials(factors=4, l2=0.01, unobserved=0.3).fit(baskets).scores(DATA) for baskets in (DATA, DATA[::-1]))
    np.testing.assert_allclose(one, two, atol=1e-4)


def test_the_reasons_are_the_items_parts_of_the_score() -> None:
    pytest.importorskip("implicit", reason=NO_IMPLICIT)
    model = Ials(factors=3, unobserved=0.1, l2=0.01).fit(TOY)
    reason = model.explain(["milk", "tea"], "bread")
    own = [model.number("milk"), model.number("tea")]
    f, t = model.F_[own].astype(float), model.F_[model.number("bread")]
    A = 0.1 * model.F_.astype(float).T @ model.F_ + f.T @ f + 0.01 * (2 + 0.1 * 6) * np.eye(3)
    expected = dict(zip(["milk", "tea"], f @ np.linalg.inv(A) @ t, strict=True))
    assert dict(reason.shares) == pytest.approx(expected, rel=1e-4)
    assert reason.prior == pytest.approx(0, abs=1e-6)
    assert expected["milk"] > expected["tea"]


def test_asking_needs_no_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("implicit", reason=NO_IMPLICIT)
    model = Ials(factors=3).fit(TOY)
    model.save(tmp_path / "ials.model")
    for name in [name for name in sys.modules if name.partition(".")[0] == "implicit"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "implicit", None)
    assert load(tmp_path / "ials.model").complete(["milk"]).suggestions == model.complete(["milk"]).suggestions
    with pytest.raises(CooccurError, match=r"ials learns with the library implicit; pip install 'cooccur\[peers\]'"):
        Ials().fit(TOY)


# -- multvae ----------------------------------------------------------------------------------------

BATCH = Batch(DATA[:6].indptr, DATA[:6].indices, np.linspace(0.5, 2, 6).astype(np.float32))
KEEP = np.where(np.random.default_rng(3).random(len(BATCH.indices)) < 0.6, 1 / 0.6, 0.0)


@pytest.mark.parametrize("variational", [False, True])
@pytest.mark.parametrize("hidden", ["3", "5x3", "5x4x2"])
def test_the_loss_is_the_papers(hidden: str, variational: bool) -> None:
    """One record at a time, in numpy, with the same items dropped and the same noise."""
    learner = MultVaeLearner(MultVae(hidden=hidden, variational=variational), DATA, fresh=True)
    sizes, vae, beta = learner.sizes, learner.vae, 0.7
    for part in learner.inner:
        part.data += 0.1 * torch.randn(part.shape, generator=torch.Generator().manual_seed(5))  # biases too
    noise = torch.randn(6, sizes[-1], generator=torch.Generator().manual_seed(4)) if variational else None
    E, B, R, b = (part.detach().double().numpy() for part in (vae.E, vae.B, vae.R, vae.b))
    up, down = ([[part.detach().double().numpy() for part in pair] for pair in pairs] for pairs in (vae.up, vae.down))
    assert [W.shape[0] for W, _ in down] == list(sizes[-2::-1])
    total = 0.0
    for record in range(6):
        own = slice(BATCH.indptr[record], BATCH.indptr[record + 1])
        items, x = BATCH.indices[own], np.zeros(9)
        x[items] = KEEP[own] / np.linalg.norm(np.ones(len(items)))
        a = x @ E + B
        for W, bias in up:
            a = W @ np.tanh(a) + bias
        kl = 0.0
        if noise is None:
            h = np.tanh(a)
        else:
            mean, deviation = a[: sizes[-1]], np.exp(a[sizes[-1] :] / 2)
            h = mean + deviation * noise[record].double().numpy()
            kl = sum(0.5 * (m**2 + s**2 - 1) - np.log(s) for m, s in zip(mean, deviation, strict=True))
        for W, bias in down:
            h = np.tanh(W @ h + bias)
        p = np.exp(R @ h + b) / np.exp(R @ h + b).sum()
        total += float(BATCH.weights[record]) * (beta * kl - np.log(p[items]).sum())
    assert float(vae.loss(BATCH, KEEP, noise, beta).detach()) == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("variational", [False, True])
def test_the_score_is_what_was_learned_without_noise(variational: bool) -> None:
    """What numpy predicts is what torch learned: the loss of whole records at z = u, from the scores."""
    model = MultVae(hidden="5x3", epochs=2, variational=variational).fit(TOY)
    data = Baskets.from_lists(TOY)
    scores = model._scores(data).astype(np.float64)
    np.testing.assert_allclose(np.exp(scores).sum(axis=1), 1, rtol=1e-5)
    batch = Batch(data.indptr, data.indices, np.ones(len(data), dtype=np.float32))
    learner = MultVaeLearner(model, data, fresh=False)
    silent = torch.zeros(len(data), 3) if variational else None
    loss = learner.vae.loss(batch, np.ones(data.nnz), silent, beta=0.0)
    assert float(loss.detach()) == pytest.approx(-scores[data.matrix.toarray() > 0].sum(), rel=1e-5)


def test_dropout_and_annealing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[float, float]] = []
    plain = MultinomialAutoencoder.loss

    def spy(self, batch, keep, noise, beta, sample):  # type: ignore[no-untyped-def]
        assert set(np.unique(keep)) <= {0.0, 1 / 0.75}
        seen.append((float((keep == 0).mean()), beta))
        return plain(self, batch, keep, noise, beta, sample)

    monkeypatch.setattr(MultinomialAutoencoder, "loss", spy)
    learner = MultVaeLearner(MultVae(dropout=0.25, beta=0.5, anneal=20), DATA[:6], fresh=True)  # a step is an epoch
    for _ in range(200):
        learner.step(BATCH, 1.0)
    dropped, betas = zip(*seen, strict=True)
    assert np.mean(dropped) == pytest.approx(0.25, abs=0.03)
    np.testing.assert_allclose(betas[:20], 0.5 * np.arange(20) / 20)
    assert set(betas[20:]) == {0.5}


def test_drawn_items_stand_for_all_in_the_softmax() -> None:
    """The mean over draws comes near to the exact loss, the record's own items always count once, and learning by few
    of many items finds what goes together."""
    learner = MultVaeLearner(MultVae(hidden="5x3", negatives=6), DATA, fresh=True)
    rng, noise = np.random.default_rng(0), torch.zeros(6, 3)
    exact = float(learner.vae.loss(BATCH, KEEP, noise, 0.5).detach())
    each = [draw_items(learner.draw, 2000, rng, beside=BATCH.indices) for _ in range(20)]
    assert np.mean([float(learner.vae.loss(BATCH, KEEP, noise, 0.5, one).detach()) for one in each]) == pytest.approx(
        exact, rel=0.01
    )
    few = [draw_items(learner.draw, 1, rng, beside=BATCH.indices) for _ in range(50)]
    assert all(learner.vae.loss(BATCH, KEEP, noise, 0.0, one) > 0 for one in few)  # p <= 1: the own are always there
    assert [MultVae().drawn(n) for n in (10_000, 10_001)] == [0, 3000]
    assert [MultVae(negatives=5).drawn(n) for n in (5, 6)] == [0, 5]
    train, test = shop()
    spec, removals = "multvae:beta=0,dropout=0.3,rate=0.01,hidden=64x32", remove_items(test, 1, 0)
    whole, drawn = (
        sum(validate(make_model(spec + more).fit(train)._scores, removals)) for more in ("", ",negatives=20,batch=100")
    )
    assert drawn > 0.9 * whole


def test_going_on_starts_from_what_was_learned_and_with_the_whole_beta() -> None:
    model = MultVae(hidden="5x3", epochs=2).fit(TOY)
    before = {name: getattr(model, name).copy() for name in model.arrays}
    model.set_params(rate=1e-6).partial_fit(TOY)
    for name, array in before.items():
        np.testing.assert_allclose(getattr(model, name), array, atol=1e-5)
    assert not np.array_equal(model.E_, before["E_"])
    assert MultVaeLearner(model, DATA, fresh=False).seen == np.inf


def test_widths_follow_the_number_of_items() -> None:
    assert MultVae().widths(5000) == (600, 200)
    assert MultVae().widths(100) == (400, 100)
    assert MultVae().fit(TOY).sizes_.tolist() == [24, 6]
    assert make_model("multvae:hidden=auto").get_params()["hidden"] is None


@pytest.mark.parametrize("hidden", ["", "64x", "0", "wide"])
def test_a_hidden_layer_is_needed(hidden: str) -> None:
    with pytest.raises(ParameterError, match=f"multvae: hidden = '{hidden}'; expected "):
        make_model("multvae", hidden=hidden)
