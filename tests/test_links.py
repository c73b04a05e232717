"""Records that bear names of items: the links among them as pair terms, and when they are none."""

from __future__ import annotations

import numpy as np
import pytest

from cooccur.baskets import Baskets
from cooccur.evaluation.removal import Removals, hold_out, remove_items
from cooccur.models import make_model
from cooccur.models.links import owners
from cooccur.training import links
from cooccur.training.loop import validate


def friends(people: int = 400, circle: int = 20, close: float = 0.35, seed: int = 0) -> Baskets:
    """Friend lists: most friends are from one's own circle, and not all friendships go both ways."""
    rng = np.random.default_rng(seed)
    same = np.equal.outer(np.arange(people) // circle, np.arange(people) // circle)
    knows = rng.random((people, people)) < np.where(same, close, 0.01)
    np.fill_diagonal(knows, False)
    names = [f"p{number}" for number in range(people)]
    return Baskets.from_matrix(knows, names, records=names)


FRIENDS = friends()


def test_links_are_the_records_of_the_items() -> None:
    linking, linked = links.learn(FRIENDS)
    A, n = FRIENDS.matrix.toarray(), FRIENDS.frequencies
    np.testing.assert_allclose(linking.W.toarray(), A / np.sqrt(A.sum(axis=1, keepdims=True)), rtol=1e-6)
    np.testing.assert_allclose(linked.W.toarray(), A.T / n[:, None], rtol=1e-6)
    few = FRIENDS[:5]
    np.testing.assert_allclose(linked.scores(few), linked.c + few.matrix @ linked.W.toarray(), rtol=1e-5)


def test_a_training_record_is_asked_as_if_it_had_taught_nothing() -> None:
    """Also one that holds its own name; but for the tie break, whose popularity moves by one record."""
    others = FRIENDS[FRIENDS.records != "p7"]
    holds = Baskets.from_lists([*others, ["p7", "p8", "p9"]], records=[*others.records[:-1], "nobody", "p7"])
    removals = remove_items(holds[-40:])
    for number, part in enumerate(links.learn(holds)):
        said = part.unseen(removals)
        for row in range(0, len(removals), 3):
            record = len(holds) - 40 + removals.record[row]
            other = links.learn(holds[np.arange(len(holds)) != record])[number]
            expected = other.scores(removals.rest[[row]])[0]
            own = owners(removals.rest[[row]])[0]
            if number == 1 and own in removals.rest.row(row):  # its own place in others' records is left out too
                continue
            np.testing.assert_allclose(said[row], expected, atol=2e-4)


def test_names_that_are_the_same_by_chance_are_no_links() -> None:
    rng = np.random.default_rng(1)
    popular = np.linspace(0.01, 0.5, 80)
    plain = Baskets.from_matrix(rng.random((600, 80)) < popular)
    assert (owners(plain) == -1).all()
    numbered = plain[np.arange(600)]  # records and items both 0, 1, 2 ...
    assert (owners(numbered) >= 0).sum() == 80
    assert links.learn(numbered) == links.learn(plain) == []
    dealt = Baskets(FRIENDS.indptr, FRIENDS.indices, FRIENDS.items, rng.permutation(FRIENDS.records))
    assert links.learn(dealt) == []
    assert len(links.learn(FRIENDS)) == 2


def test_dem_reads_the_names_of_friend_lists() -> None:
    """Loose circles of twelve: pairs of friends are rare in a third's list, links among them are not."""
    many = friends(people=1500, circle=12, close=0.5, seed=2)
    train, removals = hold_out(many, 0.2, 0, at_most=300, removals=1500)
    found = {}
    for spec in ("dem:hidden=none", "dem:hidden=none,names=no"):
        model = make_model(spec).fit(train)
        found[spec] = validate(model._scores, removals)
    with_names, without = found.values()
    assert with_names[1] > without[1] + 3, found


def test_the_name_of_the_set_that_is_completed_is_not_asked_for() -> None:
    """A record's own links are in other people's records: it must not be known whose record is completed."""
    model = make_model("dem:hidden=none").fit(FRIENDS[:300])
    rest = remove_items(FRIENDS[300:]).rest
    unnamed = Baskets(rest.indptr, rest.indices, rest.items)
    np.testing.assert_array_equal(model._scores(rest), model._scores(unnamed))


def test_removals_keep_the_names_of_their_records() -> None:
    removals: Removals = remove_items(FRIENDS[100:110], draws=2)
    assert removals.complete().records.tolist() == FRIENDS.records[100:110].tolist()
    assert list(removals.complete()) == list(FRIENDS[100:110])


@pytest.mark.parametrize("spec", ["dem:pairs=counts,hidden=none", "dem:pairs=closed,hidden=none"])
def test_a_rival_alone_has_no_links(spec: str) -> None:
    named, unnamed = FRIENDS, Baskets(FRIENDS.indptr, FRIENDS.indices, FRIENDS.items)
    one, other = (make_model(spec).fit(data)._scores(FRIENDS[:20]) for data in (named, unnamed))
    np.testing.assert_array_equal(one, other)
