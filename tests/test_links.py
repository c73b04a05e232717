"""Records that bear names of items: the links among them as pair terms, and when they are none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cooccur.baskets import Baskets
from cooccur.cli import main
from cooccur.evaluation.removal import Removals, hold_out, remove_items
from cooccur.models import links as models
from cooccur.models import make_model
from cooccur.models.links import both, meant, owners
from cooccur.storage import load
from cooccur.training import blend, links
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
    alike = Baskets(plain.indptr, plain.indices, plain.items, plain.records)  # records and items both 0, 1, 2 ...
    assert (owners(alike) >= 0).sum() == 80
    assert links.learn(alike) == links.learn(plain) == []
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


def test_links_do_not_know_the_answer() -> None:
    """Where all friendships go both ways and are chance, the record of the removed friend holds the set's owner. Who
    makes use of that finds the friend; nothing else can be known here, so nobody may be better than chance."""
    rng = np.random.default_rng(3)
    knows = np.triu(rng.random((400, 400)) < 0.03, 1)
    names = [f"p{number}" for number in range(400)]
    chance = Baskets.from_matrix(knows | knows.T, names, records=names)
    train, removals = hold_out(chance, 0.3, 0, at_most=120, removals=1200)
    assert not meant(train, owners(train))
    A = models.links(train, owners(train))
    linking, linked = both(A, train)
    found = {}
    for name, W in {"linking": linking, "linked": linked, "both": linking + linked, "alike": A @ A.T}.items():
        found[name] = validate(lambda rest, W=W: (rest.matrix @ W).toarray() + 1e-9 * train.frequencies, removals)[1]
    assert max(found["linking"], found["linked"], found["both"]) < 100 * 10 / 388 + 2, found
    assert found["alike"] > 20, found  # why likeness of records is no term


def test_nobody_is_suggested_to_himself(tmp_path: Path) -> None:
    """The record of p5 has taught that p5 holds these: without his name he is the first to be found, with it never."""
    rest = remove_items(FRIENDS).rest
    unnamed = Baskets(rest.indptr, rest.indices, rest.items)
    for spec in ("links", "dem:hidden=none"):
        model = make_model(spec).fit(FRIENDS)
        assert model.named_
        model.save(tmp_path / "friends.model")
        again = load(tmp_path / "friends.model")
        own = owners(rest)[:, None]
        assert (again.complete_batch(unnamed, 10).items == own).any(axis=1).mean() > 0.5
        assert not (again.complete_batch(rest, 10).items == own).any()
        assert FRIENDS.records[7] not in again.complete(FRIENDS.names(7), exclude=[FRIENDS.records[7]]).items
    assert not make_model("lwcvg").fit(FRIENDS).named_


def test_records_that_hold_their_own_names_have_no_links() -> None:
    holds = [[*names, own] for names, own in zip(FRIENDS, FRIENDS.records, strict=True)]
    assert links.learn(Baskets.from_lists(holds, records=FRIENDS.records)) == []


def test_without_names_it_is_the_model_of_unnamed_records() -> None:
    unnamed = Baskets(FRIENDS.indptr, FRIENDS.indices, FRIENDS.items)
    one, other = make_model("dem:hidden=none,names=no").fit(FRIENDS), make_model("dem:hidden=none").fit(unnamed)
    np.testing.assert_array_equal(one._scores(FRIENDS[:20]), other._scores(FRIENDS[:20]))
    assert not one.named_
    assert not other.named_


def test_two_records_of_one_name_are_one() -> None:
    twice = Baskets.from_lists([["a", "b"], ["b", "c"]], records=["c", "c"])
    assert models.links(twice, owners(twice)).toarray().tolist() == [[0, 0, 0], [0, 0, 0], [1, 1, 0]]


def test_even_strengths_hear_a_part_that_is_silent_in_most_records() -> None:
    rng = np.random.default_rng(4)
    n, rows = 200, 2000
    target = rng.integers(n, size=rows)
    removals = Removals(Baskets.from_matrix(np.zeros((rows, n))), target, np.arange(rows))
    at = np.arange(n) == target[:, None]
    sizes = np.exp(rng.normal(0, 2, size=(rows, 1)))  # some records are far louder
    noisy = lambda: (rng.normal(size=(rows, n)) + 2 * at) * sizes  # noqa: E731
    scores = [noisy(), np.where(rng.random((rows, 1)) < 0.3, noisy(), 1e-6 * rng.random((rows, n)))]
    parts = [lambda some, x=x: x[some.record].astype(np.float32) for x in scores]
    a = blend.strengths(parts, removals)
    assert a[1] > 0.3 * a[0]
    both = a[0] * scores[0] + a[1] * scores[1]
    first = [(some.argmax(axis=1) == target).mean() for some in (both, scores[0])]
    assert first[0] > first[1] + 0.02


def test_describe_says_that_records_are_items(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{own} {name}" for own, names in zip(FRIENDS.records, FRIENDS, strict=True) for name in names]
    (tmp_path / "friends.txt").write_text("\n".join(lines))
    assert main(["describe", str(tmp_path / "friends.txt"), "--format", "pairs"]) == 0
    assert "record names    400 are items" in capsys.readouterr().out
    assert main(["describe", str(tmp_path / "friends.txt"), "--format", "lines", "--json"]) == 0
    assert '"named": 0' in capsys.readouterr().out


def test_removals_keep_the_names_of_their_records() -> None:
    removals: Removals = remove_items(FRIENDS[100:110], draws=2)
    assert removals.complete().records.tolist() == FRIENDS.records[100:110].tolist()
    assert list(removals.complete()) == list(FRIENDS[100:110])


@pytest.mark.parametrize("spec", ["dem:pairs=counts,hidden=none", "dem:pairs=closed,hidden=none"])
def test_a_rival_alone_has_no_links(spec: str) -> None:
    named, unnamed = FRIENDS, Baskets(FRIENDS.indptr, FRIENDS.indices, FRIENDS.items)
    one, other = (make_model(spec).fit(data)._scores(FRIENDS[:20]) for data in (named, unnamed))
    np.testing.assert_array_equal(one, other)


def test_the_command_line_suggests_nobody_to_himself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    friends, model, out = tmp_path / "friends.txt", str(tmp_path / "friends.model"), tmp_path / "out.jsonl"
    pairs = [(own, name) for own, names in zip(FRIENDS.records, FRIENDS, strict=True) for name in names]
    friends.write_text("\n".join(f"{own} {name}" for own, name in pairs))
    assert main(["fit", str(friends), "--format", "pairs", "-m", "links", "-o", model]) == 0
    assert main(["complete", model, "--input", str(friends), "--format", "pairs", "-o", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len({row["record"] for row in rows}) == 400
    assert all(row["record"] != row["item"] for row in rows)
    capsys.readouterr()
    for more, there in (([], True), (["--exclude", "p7"], False)):
        assert main(["complete", model, *FRIENDS.names(7), "--json", *more]) == 0
        assert ("p7" in [s["item"] for s in json.loads(capsys.readouterr().out)["suggestions"]]) is there
    assert main(["complete", model, "p1", "--exclude", "nobody"]) == 2
    assert "'nobody'" in capsys.readouterr().err


def test_lines_go_by_their_numbers_and_these_are_no_names(tmp_path: Path) -> None:
    """Items are numbers and the model has links: line 1 of a file is not the list of item 1."""
    friends = Baskets.from_lists(FRIENDS, records=FRIENDS.records)
    number = {name: str(at) for at, name in enumerate(FRIENDS.items)}
    names = [number.get(name, name) for name in friends.records]
    model = make_model("links").fit(Baskets(friends.indptr, friends.indices, list(number.values()), names))
    assert model.named_
    lines = [[number[name] for name in record] for record in FRIENDS]
    (tmp_path / "lines.txt").write_text("".join(" ".join(line) + "\n" for line in lines))
    model.save(tmp_path / "a.model")
    out = tmp_path / "out.jsonl"
    assert main(["complete", str(tmp_path / "a.model"), "--input", str(tmp_path / "lines.txt"), "-o", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    for at in range(50):
        assert [row["item"] for row in rows if row["record"] == str(at)] == list(model.complete(lines[at]).items)


def test_records_by_number_stay_so() -> None:
    plain = Baskets.from_lists([["0", "1"], ["1", "2"], ["2", "0"]])
    assert plain.records.tolist() == ["0", "1", "2"]
    parts = [plain[1:], plain[np.array([2, 0])], plain.filter(min_frequency=1, top_items=2), plain.concat(plain)]
    removals = remove_items(plain)
    parts += [plain.with_vocabulary(["1", "0"])[0], removals.rest, removals.complete(), removals[1:].rest]
    assert all(part.numbered for part in parts)
    assert parts[1].records.tolist() == ["2", "0"]
    named = Baskets.from_lists([["0", "1"], ["1", "2"]], records=["7", "8"])
    assert not any(part.numbered for part in (named, named[1:], named.concat(plain), remove_items(named).rest))
