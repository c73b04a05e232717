"""Each model keeps the contract."""

from __future__ import annotations

from contract import Contract


class TestPopularity(Contract):
    spec = "popularity"
    beats_popularity = False


class TestCvg(Contract):
    spec = "cvg"


class TestNormCvg(Contract):
    spec = "normcvg"


class TestLwCvg(Contract):
    spec = "lwcvg"


class TestLrw(Contract):
    spec = "lrw"
