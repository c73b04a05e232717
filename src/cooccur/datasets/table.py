"""The table of public datasets: where each is published, how to know it is the right one, how its records are formed.

`DATASETS` is the only place to mend when an address moves. A file is known by the sha256 of its uncompressed bytes;
where none is known to us (ml-10m, slashdot0811) the published counts are compared instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cooccur.baskets import Baskets


@dataclass(frozen=True)
class Dataset:
    """One line of the table.

    `path` is the file below the data home (plain or with `.gz`); `member` is its name inside a zip at `url`.
    `counts` may name what the file holds (`lines` that are no comment, distinct `users` in the first field, distinct
    `nodes` in the first two) and what the loaded baskets hold (`records`, `items`, `occurrences`).
    `reader` is passed to `cooccur.read`, whose baskets then go through `prepare`.
    """

    name: str
    title: str
    path: str
    url: str | None
    page: str
    record: str
    licence: str
    citation: str
    counts: Mapping[str, int]
    reader: Mapping[str, Any]
    sha256: str | None = None
    member: str | None = None
    prepare: Callable[[Baskets], Baskets] = field(default=lambda baskets: baskets, repr=False)
    titles: str | None = None
    titles_encoding: str = "utf-8"

    @property
    def converted(self) -> bool:
        """Whether the file is our export of the published one: other bytes may hold the same ratings."""
        return self.member is not None and self.member.endswith(".xls")

    @property
    def check(self) -> str:
        """How a copy is verified, in words."""
        if self.sha256 is None:
            return "published counts (no sha256 is known)"
        return "sha256, or else counts" if self.converted else "sha256"


# -- how records are formed ---------------------------------------------------------------------------


def _liked(baskets: Baskets) -> Baskets:
    return baskets.filter(min_frequency=1, min_length=1)


def _top500(baskets: Baskets) -> Baskets:
    return baskets.filter(top_items=500, min_length=1)


def _no_self_loops(baskets: Baskets) -> Baskets:
    import numpy as np

    from cooccur.baskets import Baskets
    from cooccur.models.links import owners

    rows = np.repeat(np.arange(len(baskets)), baskets.lengths)
    other = owners(baskets)[rows] != baskets.indices
    links = Baskets.from_pairs(rows[other], baskets.indices[other], baskets.items, baskets.records)
    return links.filter(min_frequency=1, min_length=1)  # with a self loop alone there is nothing left


def _both_ways(baskets: Baskets) -> Baskets:
    import numpy as np

    from cooccur.baskets import Baskets

    code = {name: number for number, name in enumerate(dict.fromkeys([*baskets.records, *baskets.items]))}
    one = np.array([code[name] for name in baskets.records], dtype=np.int64).repeat(baskets.lengths)
    two = np.array([code[name] for name in baskets.items], dtype=np.int64)[baskets.indices]
    return Baskets.from_pairs(np.concatenate((one, two)), np.concatenate((two, one)), list(code), list(code))


# -- the table ----------------------------------------------------------------------------------------

_SEE_PAGE = "for research use, see the page"
_MOVIELENS_TERMS = (
    "research use with acknowledgement; no redistribution, and no commercial use without permission of GroupLens"
)
_MOVIELENS = (
    "F. M. Harper, J. A. Konstan: The MovieLens Datasets: History and Context. ACM TiiS 5(4), 2015. doi:10.1145/2827872"
)
_SLASHDOT = (
    "J. Leskovec, K. Lang, A. Dasgupta, M. Mahoney: Community Structure in Large Networks: Natural Cluster Sizes "
    "and the Absence of Large Well-Defined Clusters. Internet Mathematics 6(1), 2009"
)
_EDGES: Mapping[str, Any] = {"format": "pairs", "header": False}
_RATINGS: Mapping[str, Any] = {"format": "ratings", "header": False, "separator": "::", "threshold": ">= 4"}

_SLASHDOT0811 = Dataset(
    name="slashdot0811",
    title="Slashdot Zoo, November 2008 (SNAP)",
    path="slashdot/soc-Slashdot0811.txt",
    url="https://snap.stanford.edu/data/soc-Slashdot0811.txt.gz",
    page="https://snap.stanford.edu/data/soc-Slashdot0811.html",
    record="a user's out-links, self loops dropped",
    licence=_SEE_PAGE,
    citation=_SLASHDOT,
    counts={"lines": 905_468, "nodes": 77_360},
    reader=_EDGES,
    prepare=_no_self_loops,
)
_ML_1M = Dataset(
    name="ml-1m",
    title="MovieLens 1M",
    path="ml-1m/ratings.dat",
    url="https://files.grouplens.org/datasets/movielens/ml-1m.zip",
    page="https://grouplens.org/datasets/movielens/1m/",
    record="a user's movies rated 4 or more",
    licence=_MOVIELENS_TERMS,
    citation=_MOVIELENS,
    counts={"records": 6_038, "items": 3_533, "occurrences": 575_281},
    reader=_RATINGS,
    sha256="506d64ca44484487c11dc2d9a28de5c54948213e6b96285e298afe28d6ea4e0f",
    member="ml-1m/ratings.dat",
    prepare=_liked,
    titles="ml-1m/movies.dat",
    titles_encoding="latin-1",
)
_ML_10M = replace(
    _ML_1M,
    name="ml-10m",
    title="MovieLens 10M",
    path="ml-10m/ratings.dat",
    url="https://files.grouplens.org/datasets/movielens/ml-10m.zip",
    page="https://grouplens.org/datasets/movielens/10m/",
    counts={"lines": 10_000_054, "users": 69_878},
    sha256=None,
    member="ml-10M100K/ratings.dat",
    titles="ml-10m/movies.dat",
    titles_encoding="utf-8",
)
_TOP500 = "a user's movies rated 4 or more, among the 500 movies most often rated so"

DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            name="retail",
            title="Retail: a Belgian supermarket's baskets (FIMI)",
            path="retail/retail.dat",
            url="http://fimi.uantwerpen.be/data/retail.dat.gz",
            page="http://fimi.uantwerpen.be/data/",
            record="a transaction",
            licence=_SEE_PAGE,
            citation="T. Brijs, G. Swinnen, K. Vanhoof, G. Wets: Using Association Rules for Product Assortment "
            "Decisions: A Case Study. KDD 1999",
            counts={"records": 88_162, "items": 16_470, "occurrences": 908_576},
            reader={"format": "lines", "header": False},
            sha256="d967431ba522e32f0fbb243f2ee113ecd4cb374cb0234c1b0858dae1d499a055",
        ),
        Dataset(
            name="epinions",
            title="Epinions: who trusts whom (SNAP)",
            path="epinions/soc-Epinions1.txt",
            url="https://snap.stanford.edu/data/soc-Epinions1.txt.gz",
            page="https://snap.stanford.edu/data/soc-Epinions1.html",
            record="a user's out-links",
            licence=_SEE_PAGE,
            citation="M. Richardson, R. Agrawal, P. Domingos: Trust Management for the Semantic Web. ISWC 2003",
            counts={"records": 60_341, "items": 51_957, "occurrences": 508_837},
            reader=_EDGES,
            sha256="3e42b000e66cada74053ac7f8b24de291f9837264421dc2f3730b45cc58d17b1",
        ),
        _SLASHDOT0811,
        replace(
            _SLASHDOT0811,
            name="slashdot0811-undirected",
            title="Slashdot Zoo, November 2008, directions lost",
            path="slashdot/soc-Slashdot0811-undirected.txt",
            url=None,  # nowhere published that we know of
            record="a user's neighbours: each pair is taken both ways",
            counts={"records": 77_360, "items": 77_360, "occurrences": 938_360},
            sha256="1931f8a791f482b1e52ef09240378501ddfa9626a23a9ff6f2416981ca8a610f",
            prepare=_both_ways,
        ),
        replace(
            _SLASHDOT0811,
            name="slashdot0902",
            title="Slashdot Zoo, February 2009 (SNAP)",
            path="slashdot/soc-Slashdot0902.txt",
            url="https://snap.stanford.edu/data/soc-Slashdot0902.txt.gz",
            page="https://snap.stanford.edu/data/soc-Slashdot0902.html",
            counts={"records": 71_891, "items": 82_168, "occurrences": 870_161},
            sha256="f503f1fea1caa322c10cd2c02bffbd8cac97834375c7cec30cdc8bf3bf2bb756",
        ),
        Dataset(
            name="jester",
            title="Jester: ratings of 100 jokes (dataset 1, part 1)",
            path="jester/jester-data-1.csv",
            url="https://eigentaste.berkeley.edu/dataset/jester_dataset_1_1.zip",
            page="https://eigentaste.berkeley.edu/dataset/",
            record="a user's jokes rated above 0",
            licence="free for research use with acknowledgement of the paper cited",
            citation="K. Goldberg, T. Roeder, D. Gupta, C. Perkins: Eigentaste: A Constant Time Collaborative "
            "Filtering Algorithm. Information Retrieval 4(2), 2001",
            counts={"lines": 24_983, "records": 24_913, "items": 100, "occurrences": 1_077_115},
            reader={
                "format": "wide",
                "separator": ",",
                "header": False,
                "missing": "99",
                "first": 1,
                "threshold": "> 0",
            },
            sha256="4692895acc91263ec11592cb94687725e28afdd451845ab46c2ac6ba3ebc414e",
            member="jester-data-1.xls",
            prepare=_liked,
            titles="jester/jester-jokes.csv",
        ),
        _ML_1M,
        replace(
            _ML_1M,
            name="ml-1m-top500",
            title="MovieLens 1M, the 500 most liked movies",
            record=_TOP500,
            counts={"records": 6_037, "items": 500, "occurrences": 359_149},
            prepare=_top500,
        ),
        _ML_10M,
        replace(
            _ML_10M,
            name="ml-10m-top500",
            title="MovieLens 10M, the 500 most liked movies",
            record=_TOP500,
            prepare=_top500,
        ),
    )
}
