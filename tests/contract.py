"""The suite that every model inherits. A model's test is three lines:

class TestCvg(Contract):
    spec = "cvg"
"""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from cooccur.baskets import Baskets
from cooccur.errors import InputError, NotFittedError, ParameterError
from cooccur.evaluation.metrics import top_at
from cooccur.evaluation.removal import rank, remove_items
from cooccur.models import make_model
from cooccur.models.base import Model
from cooccur.storage import load
from cooccur.synthetic import RECIPES, planted_shop

TOY = [["milk", "bread", "butter"], ["milk", "bread"], ["tea", "mint"], ["tea", "mint", "honey"], ["bread", "butter"]]
TOY = TOY * 8  # enough records for models that hold some out


@cache
def shop() -> tuple[Baskets, Baskets]:
    """Training and test records of the planted shop."""
    baskets = planted_shop().sample(12_000, seed=3)
    return baskets[:10_000], baskets[10_000:]


@cache
def fitted(spec: str, toy: bool) -> Model:
    """A model that several tests ask: on the toy, or on the planted shop."""
    return make_model(spec).fit(Baskets.from_lists(TOY) if toy else shop()[0])


class Contract:
    spec: ClassVar[str]
    beats_popularity: ClassVar[bool] = True
    trained_by_steps: ClassVar[bool] = False  # then the order of the records may matter

    @pytest.fixture
    def toy(self) -> Model:
        return fitted(self.spec, True)

    @pytest.fixture
    def trained(self) -> Model:
        return fitted(self.spec, False)

    def test_order_of_items_changes_nothing(self, toy: Model) -> None:
        assert toy.complete(["milk", "bread"]).suggestions == toy.complete(["bread", "milk"]).suggestions

    def test_order_of_records_changes_nothing(self) -> None:
        if self.trained_by_steps:
            return
        data = Baskets.from_lists(TOY)
        shuffled = data[np.random.default_rng(0).permutation(len(data))]
        params = (
            {"steps": 2} if self.spec == "lrw" else {}
        )  # a choice on held-out records depends on which are held out
        one, two = (make_model(self.spec, **params).fit(baskets).scores(data) for baskets in (data, shuffled))
        np.testing.assert_allclose(one, two, rtol=1e-5)

    def test_unknown_items_are_reported_and_ignored(self, toy: Model) -> None:
        with_unknown = toy.complete(["milk", "unicorn", "griffin", "unicorn"])
        assert with_unknown.unknown == ("unicorn", "griffin")
        assert with_unknown.basket == ("milk",)
        assert with_unknown.suggestions == toy.complete(["milk"]).suggestions

    def test_an_empty_basket_gets_the_prior(self, toy: Model) -> None:
        answer = toy.complete([])
        assert answer.items[0] == "bread"  # the most frequent item
        assert len(answer) == 6
        assert answer.suggestions == toy.complete(["unicorn"]).suggestions

    def test_what_is_fitted_again_forgets_the_old_names(self) -> None:
        model = make_model(self.spec).fit(TOY)
        model.complete(["milk"])
        other = [["mint", "bread"], ["mint", "ale", "bread"], ["ale", "rye"]] * 12
        again, fresh = model.fit(other), make_model(self.spec).fit(other)
        assert again.complete(["milk"]).unknown == ("milk",)
        assert again.complete(["ale"]).suggestions == fresh.complete(["ale"]).suggestions

    def test_k_may_exceed_the_items(self, toy: Model) -> None:
        answer = toy.complete(["milk"], k=1000)
        assert sorted([*answer.items, "milk"]) == sorted(toy.items_)
        with pytest.raises(ParameterError, match="k = 0; expected 1 or more"):
            toy.complete(["milk"], k=0)

    def test_items_of_the_basket_are_never_suggested(self, trained: Model) -> None:
        _, test = shop()
        batch = trained.complete_batch(test[:200], k=40)
        for record in range(200):
            own = set(test.names(record))
            assert own.isdisjoint(batch.names(record))
            assert len(batch.names(record)) == 40 - len(own)

    def test_suggestions_are_sorted_and_agree_with_the_scores(self, trained: Model) -> None:
        _, test = shop()
        scores, batch = trained.scores(test[:50]), trained.complete_batch(test[:50], k=5)
        for record in range(50):
            order = np.argsort(-scores[record], kind="stable")[:5]
            assert batch.items[record].tolist() == order.tolist()
            assert batch.scores[record].tolist() == scores[record, order].tolist()

    def test_candidates_and_exclude(self, toy: Model) -> None:
        assert toy.complete(["milk"], candidates=["tea", "honey", "milk"]).items in (["tea", "honey"], ["honey", "tea"])
        assert set(toy.complete(["milk"], exclude=["tea"]).items) == {"bread", "butter", "mint", "honey"}
        with pytest.raises(InputError, match=r"unknown item 'tee'; did you mean 'tea'\?"):
            toy.complete(["milk"], exclude=["tee"])

    def test_a_batch_equals_its_rows(self, trained: Model) -> None:
        _, test = shop()
        whole = trained.scores(test[:40])
        rows = np.concatenate([trained.scores(test[[record]]) for record in range(40)])
        np.testing.assert_allclose(whole, rows, rtol=2e-5, atol=5e-6)  # sums of hundreds, in another order

    def test_same_seed_same_result(self) -> None:
        one, two = (make_model(self.spec).fit(Baskets.from_lists(TOY)) for _ in range(2))
        for name in one.arrays:
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))

    def test_progress_never_goes_back(self) -> None:
        told: list[float] = []
        make_model(self.spec).fit(TOY * 8, progress=lambda share, words: told.append(share))
        assert told == sorted(told)
        assert all(0 <= share <= 1 for share in told)

    def test_save_load_same_answers(self, trained: Model, tmp_path: Path) -> None:
        trained.save(tmp_path / "model.safetensors")
        again = load(tmp_path / "model.safetensors")
        assert again.get_params() == trained.get_params()
        assert type(again) is type(trained)
        np.testing.assert_array_equal(again.scores(shop()[1][:20]), trained.scores(shop()[1][:20]))

    def test_input_is_not_modified(self) -> None:
        matrix = csr_matrix(Baskets.from_lists(TOY).matrix)
        before = matrix.copy()
        make_model(self.spec).fit(matrix).scores(matrix)
        np.testing.assert_array_equal(matrix.toarray(), before.toarray())
        lists = [list(record) for record in TOY]
        make_model(self.spec).fit(lists)
        assert lists == TOY

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            (np.array([[1.0, np.nan]]), "the matrix holds NaN or infinity; replace missing values with 0"),
            (np.array([[1, -1]]), "the matrix holds a negative value (-1); keep only 0 and 1"),
            (
                np.array([[1, 3]]),
                "the matrix holds 3; expected 0 and 1; say which values count, for example (matrix >= 4)",
            ),
            (np.array([[0, 0]]), "no record with an item to learn from"),
        ],
    )  # fmt: skip
    def test_bad_matrices(self, matrix: Any, message: str) -> None:
        with pytest.raises(InputError) as caught:
            make_model(self.spec).fit(matrix)
        assert str(caught.value) == message

    def test_wrong_width(self, toy: Model) -> None:
        with pytest.raises(InputError, match="a matrix 2 wide; the model knows 6 items"):
            toy.scores(np.array([[1, 0]]))

    def test_notfitted(self) -> None:
        with pytest.raises(NotFittedError, match="has not learned yet; call fit first"):
            make_model(self.spec).complete(["milk"])

    def test_parameters_are_checked_against_their_declaration(self) -> None:
        for field in dataclasses.fields(type(make_model(self.spec))):
            assert field.metadata["meaning"]
            with pytest.raises(ParameterError, match=rf"{field.name} = .*; expected "):
                make_model(self.spec, **{field.name: ["never valid"]})

    def test_scikit_learn_manners(self) -> None:
        model = make_model(self.spec)
        assert type(model)(**model.get_params()).get_params() == model.get_params()
        assert model.fit(TOY) is model

    def test_reasons_add_up(self, trained: Model) -> None:
        reason = trained.explain(["pasta", "milk", "coffee"], "pasta sauce")
        total = reason.prior + sum(value for _, value in reason.shares) + reason.rest
        assert total == pytest.approx(reason.score, rel=1e-4, abs=1e-5)
        assert {name for name, _ in reason.shares} == {"pasta", "milk", "coffee"}
        scored = trained.scores(Baskets.from_lists([["pasta", "milk", "coffee"]]))[0, trained.number("pasta sauce")]
        assert reason.score == pytest.approx(float(scored), rel=1e-4, abs=1e-5)

    def test_similar_items(self, trained: Model) -> None:
        if self.beats_popularity:
            assert trained.similar_items("coffee", k=1).items == ["coffee filters"]
        with pytest.raises(InputError, match=r"unknown item 'cofee'; did you mean 'coffee'"):
            trained.similar_items("cofee")

    def test_beats_popularity_on_the_planted_shop(self, trained: Model) -> None:
        removals = remove_items(shop()[1], seed=5)
        mine, popular = (top_at(rank(model, removals), 10).mean() for model in (trained, fitted("popularity", False)))
        if self.beats_popularity:
            assert mine > popular + 0.02
        else:
            assert mine == pytest.approx(popular, abs=0.01)

    def test_the_level_is_what_the_planted_recipes_show(self, trained: Model) -> None:
        """From two of a recipe's products an Lk model knows the third; nothing below can."""
        found = [trained.complete(names[:2], k=1).items == [names[2]] for names, _ in RECIPES]
        assert all(found) if trained.level == "Lk" else not any(found)
