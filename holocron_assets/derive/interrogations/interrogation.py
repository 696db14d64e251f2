"""What an interrogation is: which pages it wants, what it asks of them, and what the answers become."""

import json
import os
from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    StrictBool,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.derive.engine.replies import InvalidAnswerError, check_answer
from holocron_assets.derive.evidence.specs import (
    AnswersEvidence,
    ChunkEvidence,
    EvidenceSpec,
    PageEvidence,
    SqlEvidence,
)
from holocron_assets.derive.interrogations.answer_schema import read_answer_schema
from holocron_assets.derive.interrogations.conditions import check_condition
from holocron_assets.derive.interrogations.derived_tables import Over, answer_columns, derived_table
from holocron_assets.derive.interrogations.follow_ups import FollowUps
from holocron_assets.lake.keys import content_hash
from holocron_assets.lake.schema import Table

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Text = Annotated[StrictStr, Field(pattern=r"\S")]
Seed = Annotated[StrictInt, Field(ge=0, lt=1 << 31)]

_SHADOW = "_shadow_"
_QUOTABLE = (PageEvidence, ChunkEvidence)


class InterrogationError(ValueError):
    """An interrogation cannot be used; the message names the file, the key and the reason."""


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Wants(_Settings):
    """Which pages are asked about. What is left out does not narrow the choice.

    Attributes:
        of: the table that a page's type is read from. What the merged types are made of cannot wait for them.
        types: only pages of these types; for pairs, entities of these types.
        confidence_below: only pages typed less surely than that.
        confidence_from: only pages typed at least so surely.
        sources: only pages of these sources; for pairs, where either entity is of one.
        sql: a DuckDB condition over the page's row of page_signals, joined with that of its type; for pairs,
            over their row of entity_pairs.
        redirects: redirects too. They have no text of their own.
    """

    of: Literal["rule_classifications", "page_types"] = "page_types"
    types: tuple[StrictStr, ...] | None = Field(default=None, min_length=1)
    confidence_below: Share | None = None
    confidence_from: Share | None = None
    sources: tuple[StrictStr, ...] | None = Field(default=None, min_length=1)
    sql: Text | None = None
    redirects: StrictBool = False

    @field_validator("types")
    @classmethod
    def _types_are_known(cls, types: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if unknown := set(types or ()) - load_taxonomy().types.keys():
            raise ValueError(f"not in the taxonomy: {', '.join(sorted(unknown))}")
        return types

    @model_validator(mode="after")
    def _some_confidence_is_wanted(self) -> Self:
        low, high = self.confidence_from, self.confidence_below
        if low is not None and high is not None and low >= high:
            raise ValueError(f"no confidence is at least {low} and below {high}")
        return self


class Example(_Settings):
    """A question with its answer, shown to the model.

    Attributes:
        evidence: pieces of evidence by label.
        variables: what the question's template names.
        answer: as the schema wants it.
    """

    evidence: dict[StrictStr, Text] = Field(min_length=1)
    variables: dict[StrictStr, Any] = {}
    answer: dict[StrictStr, Any]


class Options(_Settings):
    """What the model server is told. Interrogations of one model share `num_ctx`: a change reloads it.

    Attributes:
        num_ctx: tokens of question and answer together.
        num_predict: tokens of an answer, at most.
        temperature: 0 answers the same each time.
        seed: of the choice among tokens, where the temperature leaves one.
    """

    num_ctx: Annotated[StrictInt, Field(ge=512, le=1 << 17)]
    num_predict: Annotated[StrictInt, Field(ge=8, le=1 << 14)]
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    seed: Seed = 0


class Rows(_Settings):
    """How an answer becomes rows.

    Attributes:
        each: the answer's array of which each object is a row; by default the answer is a row.
        quotes: columns that quote the page word for word.
    """

    each: StrictStr | None = None
    quotes: tuple[StrictStr, ...] = ()


class Interrogation(_Settings):
    """One thing that a model is asked of many pages, or of many pairs of entities.

    Attributes:
        key: its name.
        version: raised by its author when it means something else; names its shadow.
        title: what it finds out, in a line.
        model: the model that is asked, as the server calls it.
        alternatives: models to ask where the server has not got the first, best first.
        priority: from 0 to 1,000; more important ones go first.
        over: what it is asked of: pages, or pairs of entities.
        wants: which pages or pairs are asked about; every key narrows the choice.
        inputs: keys of other interrogations. An item is asked about once they were answered about it; what
            they were answered can be shown as evidence, and named by the question.
        evidence: what is shown of each, in this order: page, chunk, inline, sql_result, sql or answers.
        examples: evidence with the answer that it should get.
        answer_schema: JSON Schema of an answer.
        options: what the server is told of each call.
        rows: how an answer becomes rows.
        shadow: it runs, is published nowhere, and is compared with the live one of its key.
        redact: personal data is replaced before a model sees the evidence.
        chunk_characters: a page is read in chunks of so many characters, an item each.
        prompt: a template of what is the same for all items: what to do. A rule about data, the schema and
            the examples follow.
        question: a template of what is asked, after the evidence.
        timeout_seconds: of one call.
        follow_up: what is asked after the first answer, step by step; the last answer counts.
        retry_prompt: a template of what is said after an answer that could not be read; it may name `error`.
    """

    key: Annotated[StrictStr, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    version: Annotated[StrictInt, Field(ge=1)]
    title: Text
    model: Text
    alternatives: tuple[Text, ...] = ()
    priority: Annotated[StrictInt, Field(ge=0, le=1000)]
    over: Over = "pages"
    shadow: StrictBool = False
    wants: Wants = Wants()
    inputs: tuple[Text, ...] = ()
    evidence: tuple[EvidenceSpec, ...] = Field(min_length=1)
    redact: StrictBool = False
    chunk_characters: Annotated[StrictInt, Field(ge=200, le=10_000)] | None = None
    prompt: Text
    question: Text
    examples: tuple[Example, ...] = ()
    answer_schema: Annotated[dict[str, Any], BeforeValidator(read_answer_schema)]
    options: Options
    timeout_seconds: Annotated[float, Field(gt=0, le=3600)]
    rows: Rows = Rows()
    follow_up: FollowUps = ()
    retry_prompt: Text | None = None
    _upstream: tuple["Interrogation", ...] = PrivateAttr(())
    _tables_read: tuple[Table, ...] = PrivateAttr(())

    @field_validator("key")
    @classmethod
    def _key_is_no_shadows_name(cls, key: str) -> str:
        if _SHADOW in key:
            raise ValueError(f"must not contain {_SHADOW!r}: shadows are called so")
        return key

    @model_validator(mode="after")
    def _evidence_fits_what_is_asked_about(self) -> Self:
        roles = {"page"} if self.over == "pages" else {"first", "second"}
        wrong = {spec.of for spec in self.evidence if isinstance(spec, PageEvidence)} - roles
        if wrong:
            raise ValueError(f"evidence: of {', '.join(sorted(wrong))}: over {self.over}, there is none")
        in_chunks = any(isinstance(spec, ChunkEvidence) for spec in self.evidence)
        if in_chunks != (self.chunk_characters is not None):
            raise ValueError("chunk_characters and evidence from a chunk go together")
        if in_chunks and self.over == "pairs":
            raise ValueError("chunk_characters: a pair of entities is not read in chunks")
        return self

    @model_validator(mode="after")
    def _inputs_are_named_once(self) -> Self:
        if len(set(self.inputs)) < len(self.inputs):
            raise ValueError("inputs: names one twice")
        shown = {spec.of for spec in self.evidence if isinstance(spec, AnswersEvidence)}
        if unknown := shown - set(self.inputs):
            raise ValueError(f"evidence: answers of {', '.join(sorted(unknown))}: name it in inputs")
        return self

    @model_validator(mode="after")
    def _wants_can_be_asked(self) -> Self:
        if self.over == "pairs" and (
            self.wants.confidence_below is not None or self.wants.confidence_from is not None
        ):
            raise ValueError("wants: a pair has no confidence; name its score in wants.sql")
        if self.wants.sql is not None:
            check_condition(self.wants.sql, self.over, self.wants.of)
        return self

    @model_validator(mode="after")
    def _examples_answer_as_wanted(self) -> Self:
        for number, example in enumerate(self.examples):
            try:
                check_answer(example.answer, self.answer_schema)
            except InvalidAnswerError as error:
                raise ValueError(f"examples[{number}].{error}") from error
        return self

    @model_validator(mode="after")
    def _answers_become_rows(self) -> Self:
        _ = self.table  # what is wrong with it is to show at load
        if self.rows.quotes and not any(isinstance(spec, _QUOTABLE) for spec in self.evidence):
            raise ValueError("rows.quotes: no evidence is from a page, so nothing can be quoted")
        return self

    @property
    def name(self) -> str:
        """What it is called wherever something is named after it."""
        return f"{self.key}{_SHADOW}{self.version}" if self.shadow else self.key

    @property
    def models(self) -> tuple[str, ...]:
        """The models to ask, best first: HOLOCRON_MODEL alone, or its own."""
        override = os.environ.get("HOLOCRON_MODEL")
        return (override,) if override else (self.model, *self.alternatives)

    @cached_property
    def table(self) -> Table:
        """The table of its answers."""
        name = f"shadow_{self.key}_{self.version}" if self.shadow else f"derived_{self.key}"
        return derived_table(
            name,
            over=self.over,
            schema=self.answer_schema,
            each=self.rows.each,
            title=self.title,
            quotes=self.rows.quotes,
        )

    @cached_property
    def answer_columns(self) -> tuple[str, ...]:
        """Names of the columns that an answer's own words become."""
        return tuple(column.name for column in answer_columns(self.answer_schema, self.rows.each))

    @property
    def asks_the_lake(self) -> bool:
        """Whether some evidence is a query over the lake."""
        return any(isinstance(spec, SqlEvidence) for spec in self.evidence)

    @property
    def upstream(self) -> tuple["Interrogation", ...]:
        """Its `inputs`, in their order, once it is linked; see `chains.linked`."""
        return self._upstream

    @property
    def tables_read(self) -> tuple[Table, ...]:
        """Tables that its queries read, by name, once it is linked."""
        return self._tables_read

    def reading(self, upstream: Iterable["Interrogation"], tables: Iterable[Table]) -> "Interrogation":
        """The same interrogation, knowing its inputs and the tables that its queries read."""
        known = self.model_copy()
        known._know(tuple(upstream), tuple(tables))  # noqa: SLF001 - it is one of our own
        return known

    def _know(self, upstream: tuple["Interrogation", ...], tables: tuple[Table, ...]) -> None:
        self._upstream, self._tables_read = upstream, tables

    @cached_property
    def schema_version(self) -> str:
        """A hash of the schema of its answers."""
        return _hash(self.answer_schema)

    @cached_property
    def prompt_version(self) -> str:
        """A hash of all that shapes a request, but the model, its options and the evidence itself."""
        shaping = {"prompt", "question", "examples", "answer_schema", "evidence", "redact"}
        shaping |= {"chunk_characters", "follow_up", "retry_prompt"}
        vocabulary = load_taxonomy().model_dump(mode="json")
        return _hash([self.model_dump(mode="json", include=shaping), vocabulary])


def _hash(value: Any) -> str:
    # The order of keys is kept: a model writes an answer's properties in the schema's order.
    return content_hash(json.dumps(value, ensure_ascii=False))[:16]
