"""The protocol: folds, removals, and the figures of `evaluate` against a slow version in plain Python."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cooccur.baskets import Baskets
from cooccur.errors import CooccurError, ParameterError
from cooccur.evaluation.protocol import evaluate
from cooccur.evaluation.removal import fold_numbers, hold_out, rank, remove_items
from cooccur.models import make_model


def toy(records: int = 40, seed: int = 0, items: int = 12) -> Baskets:
    """Uneven frequencies and short records: rare items, ties, and some records with one item or none."""
    rng = np.random.default_rng(seed)
    return Baskets.from_matrix(rng.random((records, items)) < np.linspace(0.5, 0.04, items))


# -- folds --------------------------------------------------------------------------------------------


@given(st.integers(2, 60), st.data())
@settings(deadline=None)
def test_folds_are_a_fair_partition(records: int, data: st.DataObject) -> None:
    folds, seed = data.draw(st.integers(2, records)), data.draw(st.integers(0, 9))
    numbers = fold_numbers(records, folds, seed)
    sizes = np.bincount(numbers, minlength=folds)
    assert len(sizes) == folds
    assert sizes.sum() == records
    assert sizes.max() - sizes.min() <= 1
    np.testing.assert_array_equal(numbers, fold_numbers(records, folds, seed))


def test_folds_are_random_and_follow_the_seed() -> None:
    one, two = fold_numbers(1000, 5, seed=0), fold_numbers(1000, 5, seed=1)
    assert 100 < (one == two).sum() < 300  # a fifth by chance
    assert 100 < (one[1:] == one[:-1]).sum() < 300


@pytest.mark.parametrize(("records", "folds"), [(10, 1), (10, 11), (10, 0), (0, 2)])
def test_folds_that_cannot_be(records: int, folds: int) -> None:
    with pytest.raises(ParameterError) as caught:
        fold_numbers(records, folds)
    few = f"{records} records; at least 2 are needed to learn from one and test another"
    many = f"{folds} folds of {records} records; expected 2 to {records}; say --folds"
    assert str(caught.value) == (few if records < 2 else many)


# -- removals -----------------------------------------------------------------------------------------


@given(st.integers(0, 50), st.integers(1, 4))
@settings(deadline=None)
def test_a_removal_is_a_record_without_one_of_its_items(seed: int, draws: int) -> None:
    baskets = toy(seed=seed, records=15)
    removals = remove_items(baskets, draws, seed)
    fit = [record for record in range(len(baskets)) if baskets.lengths[record] >= 2]
    assert removals.record.tolist() == [record for record in fit for _ in range(draws)]  # grouped by record
    assert len(removals) == draws * len(fit)
    for row, (target, record) in enumerate(zip(removals.target, removals.record, strict=True)):
        whole = baskets.row(record).tolist()
        assert target in whole
        assert removals.rest.row(row).tolist() == [item for item in whole if item != target]
        assert removals.rest.records[row] == baskets.records[record]


def test_each_place_is_removed_equally_often() -> None:
    for length in (2, 3, 7):
        baskets = Baskets.from_matrix(np.ones((1, length)))
        counts = np.bincount(remove_items(baskets, draws=20_000, seed=3).target, minlength=length)
        chi2 = ((counts - 20_000 / length) ** 2).sum() / (20_000 / length)
        assert chi2 < (length - 1) + 4 * math.sqrt(2 * (length - 1))


def test_removals_follow_the_seed() -> None:
    baskets = toy(200)
    one, same, other = (remove_items(baskets, seed=seed).target for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).mean() > 0.3
    with pytest.raises(ParameterError, match="draws = 0; expected 1 or more"):
        remove_items(baskets, draws=0)


def test_hold_out_splits_the_records() -> None:
    baskets = toy(100)
    learn, removals = hold_out(baskets, share=0.3, seed=0, at_most=1000)
    enough = int((baskets.lengths >= 2).sum())
    assert len(removals) == round(0.3 * enough)
    held = set(removals.rest.records)
    assert held.isdisjoint(learn.records)
    assert held | set(learn.records) == set(baskets.records)
    assert len(hold_out(baskets, share=0.3, seed=0, at_most=4)[1]) == 4


def test_nothing_to_remove() -> None:
    single = Baskets.from_lists([["a"], ["b"], ["a"]])
    with pytest.raises(CooccurError, match="no test record has two items; nothing can be removed"):
        rank(make_model("cvg").fit(single), remove_items(single))


# -- evaluate -----------------------------------------------------------------------------------------


def by_hand(baskets: Baskets, fold: int, folds: int, draws: int, seed: int, ks: tuple[int, ...]) -> dict[str, float]:
    """CVG on one fold in plain Python: count pairs, add them up, look at each place a tie allows."""
    of_fold = fold_numbers(len(baskets), folds, seed).tolist()
    training = [set(record) for number, record in zip(of_fold, baskets, strict=True) if number != fold]
    together = Counter((i, t) for record in training for i in record for t in record if i != t)
    often = Counter(item for record in training for item in record)
    removals = remove_items(baskets, draws, seed)
    gains: dict[str, list[float]] = {}
    for row in range(len(removals)):
        if of_fold[removals.record[row]] != fold:
            continue
        rest, target = removals.rest.names(row), str(baskets.items[removals.target[row]])
        candidates = [item for item in baskets.items if item not in rest]
        scores = {item: sum(together[i, item] for i in rest) for item in candidates}
        if not any(together[i, item] for i in rest for item in baskets.items):
            scores = {item: often[item] for item in candidates}
        above = sum(scores[item] > scores[target] for item in candidates)
        level = sum(scores[item] == scores[target] for item in candidates)
        places = range(above + 1, above + level + 1)
        outcome = {f"top{k}": sum(place <= k for place in places) / level for k in ks}
        outcome["mrr"] = sum(1 / place for place in places) / level
        outcome[f"ndcg{max(ks)}"] = sum(1 / math.log2(1 + place) for place in places if place <= max(ks)) / level
        outcome["percentile"] = sum(place - 1 for place in places) / level / max(len(candidates) - 1, 1)
        for name, value in outcome.items():
            gains.setdefault(name, []).append(value)
            if often[target]:
                gains.setdefault(f"{name}_seen", []).append(value)
    figures = {name: 100 * sum(values) / len(values) for name, values in gains.items()}
    return figures | {"n_test": len(gains["mrr"]), "n_seen": len(gains["mrr_seen"])}


@pytest.mark.parametrize(("seed", "draws", "folds"), [(0, 1, 5), (1, 3, 2), (2, 2, 3)])
def test_figures_equal_those_by_hand(seed: int, draws: int, folds: int) -> None:
    baskets = toy(30, seed)
    result = evaluate(baskets, ["popularity", "cvg"], folds=folds, draws=draws, ks=(1, 3), seed=seed)
    rows = [row for row in result["rows"] if row["label"] == "cvg"]
    assert [row["fold"] for row in rows] == list(range(folds))
    wanted = [by_hand(baskets, fold, folds, draws, seed, (1, 3)) for fold in range(folds)]
    for row, figures in zip(rows, wanted, strict=True):
        assert {name: row[name] for name in figures} == pytest.approx(figures, abs=1e-9)
    summary = result["summary"][1]
    for name in ("top1", "top3_seen", "mrr"):
        values = [figures[name] for figures in wanted]
        assert summary[f"{name}_mean"] == pytest.approx(np.mean(values), abs=1e-9)
        assert summary[f"{name}_std"] == pytest.approx(np.std(values, ddof=1), abs=1e-9)
    assert sum(row["n_test"] for row in rows) == draws * int((baskets.lengths >= 2).sum())
    (pair,) = result["significance"]["top1"]
    popular = [row["top1"] for row in result["rows"] if row["label"] == "popularity"]
    assert pair["difference"] == pytest.approx(np.mean(popular) - np.mean([w["top1"] for w in wanted]), abs=1e-9)


TIMES = ("fit_seconds", "predict_seconds", "peak_mb")


def without_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in TIMES} for row in rows]


def test_every_model_is_asked_the_same() -> None:
    """The figures of a model do not depend on the others beside it, and twins get the same figures."""
    baskets = toy(60)
    twin = "lwcvg:length=0,source=0,target=0"
    together = without_times(evaluate(baskets, ["popularity", twin, "cvg"], folds=3)["rows"])
    alone = without_times(evaluate(baskets, ["cvg"], folds=3)["rows"])
    assert [row for row in together if row["label"] == "cvg"] == alone
    named = ("dataset", "model", "label", "params")
    one, two = (
        [{k: v for k, v in row.items() if k not in named} for row in together if row["label"] == label]
        for label in (twin, "cvg")
    )
    assert one == two


def test_one_fold_alone_is_that_fold() -> None:
    baskets = toy(60)
    everything = without_times(evaluate(baskets, ["cvg", "normcvg"], folds=4)["rows"])
    one = evaluate(baskets, ["cvg", "normcvg"], folds=4, fold=2)
    assert without_times(one["rows"]) == [row for row in everything if row["fold"] == 2]
    assert one["run"]["fold"] == 2
    assert one["summary"][0]["top1_std"] is None


def test_items_that_training_never_saw() -> None:
    """Each record holds an item of its own, so half of the removals ask for what nobody could know."""
    own = Baskets.from_lists([["a", "b", f"own{i}", f"mine{i}"] for i in range(40)])
    row = evaluate(own, ["cvg"], folds=2, fold=0, draws=20)["rows"][0]
    assert row["n_test"] == 400
    assert 160 < row["n_seen"] < 240
    # a or b, when it is removed, comes first of all; the unseen share the last place with all that score nothing
    assert row["top1_seen"] == 100
    assert row["top1"] == pytest.approx(100 * row["n_seen"] / 400)
    assert row["percentile_seen"] == 0 < row["percentile"]


def test_the_result_is_plain_json_and_two_runs_are_equal() -> None:
    baskets = toy(50)
    calls: list[float] = []
    one, two, other = (
        evaluate(
            baskets, ["cvg", "lrw:steps=2"], folds=2, draws=2, seed=seed, dataset="toy", command="cooccur evaluate",
            progress=lambda share, words: calls.append(share),
        )
        for seed in (7, 7, 8)
    )  # fmt: skip
    assert json.loads(json.dumps(one, allow_nan=False)) == one
    assert without_times(one["rows"]) == without_times(two["rows"])
    assert one["significance"] == two["significance"]
    assert without_times(one["rows"]) != without_times(other["rows"])
    assert {"command": "cooccur evaluate", "seed": 7, "folds": 2, "draws": 2}.items() <= one["run"].items()
    assert one["run"]["data"] == {
        "name": "toy", "sha256": baskets.fingerprint(), "records": 50, "items": 12, "occurrences": baskets.nnz,
    }  # fmt: skip
    assert all(row["fit_seconds"] > 0 and row["peak_mb"] > 0 for row in one["rows"])
    assert min(calls) >= 0
    assert max(calls) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"models": ["cvg", " cvg"]}, "the same model twice; give the second other parameters"),
        ({"models": ["cvg"], "folds": 5, "fold": 5}, "fold 5 of 5; they count from 0 to 4"),
        ({"models": ["cvg"], "folds": 5, "fold": -1}, "fold -1 of 5; they count from 0 to 4"),
        ({"models": ["cvg"], "draws": 0}, "draws = 0; expected 1 or more"),
        ({"models": ["cvg"], "folds": 41}, "41 folds of 40 records; expected 2 to 40; say --folds"),
        ({"models": ["normcvg:by=sauce"]}, "normcvg: by = 'sauce'; expected source, target, both, edges"),
    ],
)
def test_bad_requests(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        evaluate(toy(), **arguments)
    assert str(caught.value) == message


def test_the_data_is_left_alone() -> None:
    baskets = toy()
    before = baskets.fingerprint()
    evaluate(baskets, ["cvg"], folds=2)
    assert baskets.fingerprint() == before
