"""The processor time that the prompt of `cooccur shell` takes to find names among 100,000 titles, a letter at a time.

python benchmarks/search.py
"""

from __future__ import annotations

import time

import numpy as np

from cooccur.models import make_model
from cooccur.search import Search
from cooccur.titles import Titles

ITEMS = 100_000


def main() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(map(chr, rng.integers(97, 123, 5))) for _ in range(5000)]
    titles = {str(i): " ".join(words[w] for w in rng.integers(0, len(words), 3)) for i in range(ITEMS)}
    model = make_model("popularity").fit([list(titles)])
    model.titles_ = Titles(titles)
    search = Search(model)
    start = time.process_time()
    search.starting("")
    search.spelled("0")
    print(f"{ITEMS:,} titles made ready in {1000 * (time.process_time() - start):.0f} ms")
    typed = [word[:length] for word in (*words[:50], "qqqqq", "99999") for length in range(1, 6)]
    seconds = []
    for text in typed:
        start = time.process_time()
        search.starting(text)
        seconds.append(time.process_time() - start)
    median, slowest = 1000 * np.median(seconds), 1000 * max(seconds)
    print(f"{len(typed)} key strokes: median {median:.2f} ms, slowest {slowest:.1f} ms")


if __name__ == "__main__":
    main()
