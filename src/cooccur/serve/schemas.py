"""The JSON documents of the service, as OpenAPI shows them. Questions are checked against them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Names = Annotated[list[str], Field(examples=[["pasta", "parmesan"]])]
Many = Annotated[int, Field(ge=1, description="how many suggestions at most")]


class Question(BaseModel):
    """What is not declared is refused, and "10" is no number: a misspelt setting must not pass unseen."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Wanted(Question):
    """What kind of suggestions."""

    k: Many = 10
    candidates: Annotated[list[str] | None, Field(description="only these items are suggested; null: all")] = None
    exclude: Annotated[list[str], Field(description="these items are not suggested")] = []
    min_probability: Annotated[float, Field(ge=0, le=1, description="only items at least so probable")] = 0.0


class Complete(Wanted):
    basket: Names


class CompleteBatch(Wanted):
    baskets: list[Names]


class Explain(Question):
    basket: Names
    item: Annotated[str, Field(description="the item whose score is explained")]


class Item(BaseModel):
    id: str
    title: str
    group: str | None


class Suggestion(Item):
    score: float | None
    probability: Annotated[float | None, Field(description="null where the model's score says none")]
    rank: int


class Completed(BaseModel):
    model: str
    score_is: str
    basket: list[Item]
    unknown: Annotated[list[str], Field(description="names that the model was not trained on; they were left out")]
    suggestions: list[Suggestion]


class CompletedBatch(BaseModel):
    results: list[Completed]


class Share(BaseModel):
    id: str
    title: str
    share: float | None


class Explained(BaseModel):
    """score = prior + sum of the shares + rest"""

    item: Item
    score: float | None
    probability: float | None
    prior: float | None
    shares: list[Share]
    rest: Annotated[float | None, Field(description="what the items do together")]
    hidden: Annotated[list[Share], Field(description="what leaving an item out takes from `rest`")]
    unknown: list[str]


class Neighbour(Item):
    score: float | None
    rank: int


class Similar(BaseModel):
    item: Item
    similar: list[Neighbour]


class FoundItem(Item):
    frequency: int


class Found(BaseModel):
    total: int
    items: list[FoundItem]


class About(BaseModel):
    model: str
    params: dict[str, Any]
    score_is: str
    records: int
    items: int
    fingerprint: Annotated[str, Field(description="sha256 of the training records")]
    library: str
    file: str
    loaded_at: str
    history: dict[str, Any] | None
    measured: dict[str, Any] | None
    calibration: dict[str, Any] | None


class Map(BaseModel):
    x: list[float]
    y: list[float]
    id: list[str]
    title: list[str]
    group: list[str | None] | None
    frequency: list[int]


class Making(BaseModel):
    state: str
    share: float


class State(BaseModel):
    state: str


class Words(BaseModel):
    code: str
    message: str
    remedy: str


class Refused(BaseModel):
    error: Words
