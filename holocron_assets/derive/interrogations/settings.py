"""The parts of an interrogation's file that have keys of their own: wants, examples, options and rows."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    model_validator,
)

from holocron_assets.classify.taxonomy import known_types
from holocron_assets.frozen_model import FrozenModel

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Text = Annotated[StrictStr, Field(pattern=r"\S")]
Seed = Annotated[StrictInt, Field(ge=0, lt=1 << 31)]


class Settings(FrozenModel):
    """A part of a file, with known keys only."""


class ScaleLimit(Settings):
    """The most items that are asked about in a time, each try at an item counted.

    Attributes:
        hour: in an hour of the clock, UTC.
        day: in a day, UTC.
    """

    hour: Annotated[StrictInt, Field(ge=1)] | None = None
    day: Annotated[StrictInt, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.hour is None and self.day is None:
            raise ValueError("must name hour, day or both")
        return self


class Standing(Settings):
    """Whether and how much is asked, and how people sort it. Answers do not depend on any of it.

    Attributes:
        enabled: whether anything new is asked. Answers stay, whichever it is.
        scale_limit: the most items that are asked about in a time; without it, there is no limit.
        domain: a word for people, to find what belongs together.
    """

    enabled: StrictBool = True
    scale_limit: ScaleLimit | None = None
    domain: Annotated[StrictStr, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")] | None = None


class Wants(Settings):
    """Which pages are asked about. A key that is left out does not narrow the choice.

    Attributes:
        of: the table that gives a page's type. An interrogation that the merged types are made of cannot
            read them.
        types: only pages of these types; for entities and pairs, entities of these types.
        confidence_below: only pages whose type has a lower confidence.
        confidence_from: only pages whose type has at least this confidence.
        sources: only pages of these sources; for pairs, one of the two entities is enough.
        sql: a DuckDB condition over the page's row of page_signals, joined with that of its type; for
            pairs, over their row of entity_pairs; for entities, over that of entities.
        unpredicted: only pages of whose type the learned model of their source is not sure. A page that was
            answered about stays wanted: its answer may be what made the model sure.
        redirects: redirects too. They have no text of their own.
    """

    of: Literal["rule_classifications", "page_types"] = "page_types"
    types: Annotated[tuple[StrictStr, ...] | None, AfterValidator(known_types)] = Field(
        default=None, min_length=1
    )
    confidence_below: Share | None = None
    confidence_from: Share | None = None
    sources: tuple[StrictStr, ...] | None = Field(default=None, min_length=1)
    sql: Text | None = None
    unpredicted: StrictBool = False
    redirects: StrictBool = False

    @model_validator(mode="after")
    def _some_confidence_is_wanted(self) -> Self:
        low, high = self.confidence_from, self.confidence_below
        if low is not None and high is not None and low >= high:
            raise ValueError(f"no confidence is at least {low} and below {high}")
        return self


class Example(Settings):
    """A question with its answer, shown to the model.

    Attributes:
        evidence: pieces of evidence by label.
        variables: what the question's template names.
        answer: as the schema wants it.
    """

    evidence: dict[StrictStr, Text] = Field(min_length=1)
    variables: dict[StrictStr, Any] = Field(default_factory=dict)
    answer: dict[StrictStr, Any]


class Options(Settings):
    """Options for the model server. Interrogations of one model share `num_ctx`: a change reloads it.

    Attributes:
        num_ctx: tokens of question and answer together.
        num_predict: tokens of an answer, at most.
        temperature: at 0 the model always takes its likeliest token; answers may still differ a little.
        seed: seed of the random choice among tokens, if the temperature is above 0.
    """

    num_ctx: Annotated[StrictInt, Field(ge=512, le=1 << 17)]
    num_predict: Annotated[StrictInt, Field(ge=8, le=1 << 14)]
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    seed: Seed = 0


NO_OPTIONS = Options.model_construct(num_ctx=0, num_predict=0)
"""The options of an interrogation that asks no model."""


class Embedding(Settings):
    """How the passages of pages become vectors: the part of a space that shapes them.

    Attributes:
        dimensions: numbers of a vector.
        passage_prefix: what the model wants before a passage.
        query_prefix: what it wants before the words that are searched for.
        headings: whether the page's title and the passage's headings are embedded with it.
        digests: only these builds of the model are asked; any, if none is named.
    """

    dimensions: Annotated[StrictInt, Field(ge=8, le=4096, multiple_of=8)]
    passage_prefix: StrictStr = ""
    query_prefix: StrictStr = ""
    headings: StrictBool = True
    digests: tuple[StrictStr, ...] = ()

    def text(self, title: str, headings: Sequence[str], passage: str) -> str:
        """The text of a passage as it is embedded."""
        place = f"{' - '.join((title, *headings))}\n" if self.headings else ""
        return f"{self.passage_prefix}{place}{passage}"


class Rows(Settings):
    """How an answer becomes rows.

    Attributes:
        each: the answer's array of which each object is a row; by default the answer is a row.
        quotes: columns that quote the page word for word.
    """

    each: StrictStr | None = None
    quotes: tuple[StrictStr, ...] = ()
