"""An interrogation: which pages it wants, what it asks of them, and what the answers become."""

import json
import os
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    StrictBool,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.derive.code.answers import check_filled
from holocron_assets.derive.code.functions import SEARCH, function_version, load_function
from holocron_assets.derive.code.kinds import CODE_KINDS, Kind, check_keys, lacking_key
from holocron_assets.derive.engine.replies import InvalidAnswerError, check_answer
from holocron_assets.derive.evidence.queries import check_query, relations_named
from holocron_assets.derive.evidence.specs import (
    AnswersEvidence,
    ChunkEvidence,
    EvidenceSpec,
    PageEvidence,
    SearchEvidence,
    SqlEvidence,
)
from holocron_assets.derive.interrogations.answer_schema import read_answer_schema
from holocron_assets.derive.interrogations.conditions import check_condition, relations_of_condition
from holocron_assets.derive.interrogations.derived_tables import Over, answer_columns, derived_table
from holocron_assets.derive.interrogations.follow_ups import FollowUps
from holocron_assets.derive.interrogations.settings import (
    NO_OPTIONS,
    Embedding,
    Example,
    Options,
    Rows,
    Standing,
    Text,
    Wants,
)
from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.declaration.versions import code_version

_SHADOW = "_shadow_"
RANKING = ("score", "matched_by")
"""Columns of a search's table that say why a passage ranks where it does. What is shown is the same."""
_OF_PAGES = (PageEvidence, ChunkEvidence)


def _only_reads(sql: str) -> str:
    check_query(sql)
    return sql


def _can_be_loaded(function: str) -> str:
    load_function(function)
    return function


class InterrogationError(PermanentError, ValueError):
    """An interrogation cannot be used; the message names the file, the key and the reason."""


class Interrogation(Standing):
    """A question that a model, a query or a function answers for many pages, entities or pairs of entities.

    A key that only a model needs has a meaningless default: `check_keys` knows which keys each kind has.

    Attributes:
        key: its name.
        version: a number that its author raises when its meaning changes; part of its shadow's name.
        title: what it finds out, in a line.
        kind: what answers: a model, one SELECT, or a Python function. A space is of kind 'embedding'. What an
            interrogation with evidence of a search is shown is found by one of kind 'search'.
        sql: of kind 'sql', one SELECT about one item; it may name the item's values.
        function: of kind 'python', 'package.module:function': it takes a `CodeItem`, and returns rows.
        search: of kind 'search', what is searched.
        model: the model that is asked, as the server calls it.
        alternatives: models to ask where the server lacks the first, best first.
        priority: from 0 to 1,000; a higher number goes first.
        enabled: whether anything new is asked. Answers stay, whichever it is.
        scale_limit: the most items that are asked about in a time; without it, there is no limit.
        domain: a word for people, to find what belongs together.
        over: what it is about: pages, pairs of entities, or entities.
        wants: which of these are asked about; every key narrows the choice.
        inputs: keys of other interrogations. An item is asked about after these have answers about it. The
            evidence can show their answers, and the question can name them.
        evidence: what the model reads, in this order: page, chunk, inline, sql_result, sql, answers, search.
        examples: evidence with the answer that it should get.
        answer_schema: JSON Schema of an answer.
        options: Ollama's options of each call.
        rows: how an answer becomes rows.
        shadow: whether it only runs to be compared with the live one of its key, and is published nowhere.
        redact: whether personal data is replaced before a model reads the evidence.
        chunk_characters: a page is read in chunks of so many characters, an item each.
        prompt: a template of the instructions, the same for all items. A rule about data, the schema and
            the examples follow.
        question: a template of the question, which follows the evidence.
        timeout_seconds: the most time for one call.
        embedding: of a space, how passages become vectors.
        follow_up: questions after the first answer, step by step; the last answer counts.
        retry_prompt: a template of the text after an answer that could not be read; it may name `error`.
    """

    key: Annotated[StrictStr, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    version: Annotated[StrictInt, Field(ge=1)]
    title: Text
    kind: Kind = "model"
    sql: Annotated[Text, AfterValidator(_only_reads)] | None = None
    function: Annotated[Text, AfterValidator(_can_be_loaded)] | None = None
    search: SearchEvidence | None = None
    model: Text = ""
    alternatives: tuple[Text, ...] = ()
    priority: Annotated[StrictInt, Field(ge=0, le=1000)]
    over: Over = "pages"
    shadow: StrictBool = False
    wants: Wants = Wants()
    inputs: tuple[Text, ...] = ()
    evidence: tuple[EvidenceSpec, ...] = Field(default=(), min_length=1)
    redact: StrictBool = False
    chunk_characters: Annotated[StrictInt, Field(ge=200, le=10_000)] | None = None
    prompt: Text = ""
    question: Text = ""
    examples: tuple[Example, ...] = ()
    answer_schema: Annotated[dict[str, Any], BeforeValidator(read_answer_schema)]
    options: Options = NO_OPTIONS
    timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = 0
    rows: Rows = Rows()
    follow_up: FollowUps = ()
    retry_prompt: Text | None = None
    embedding: Embedding | None = None
    _upstream: tuple["Interrogation", ...] = PrivateAttr(())
    _tables_read: tuple[Table, ...] = PrivateAttr(())

    @model_validator(mode="before")
    @classmethod
    def _keys_are_of_its_kind(cls, declared: Any) -> Any:
        if isinstance(declared, Mapping):
            check_keys(declared)
        return declared

    @model_validator(mode="after")
    def _no_key_of_its_kind_is_missing(self) -> Self:
        if missing := lacking_key(self.kind, self.model_fields_set):
            raise ValueError(f"{missing}: is missing")
        return self

    @field_validator("key")
    @classmethod
    def _key_is_no_shadows_name(cls, key: str) -> str:
        if _SHADOW in key:
            raise ValueError(f"must not contain {_SHADOW!r}: shadows are called so")
        return key

    @model_validator(mode="after")
    def _evidence_fits_what_is_asked_about(self) -> Self:
        roles = {"first", "second"} if self.over == "pairs" else {"page"}
        wrong = {spec.of for spec in self.evidence if isinstance(spec, PageEvidence)} - roles
        if wrong:
            raise ValueError(f"evidence: of {', '.join(sorted(wrong))}: over {self.over}, there is none")
        in_chunks = any(isinstance(spec, ChunkEvidence) for spec in self.evidence)
        if in_chunks != (self.chunk_characters is not None):
            raise ValueError("chunk_characters and evidence from a chunk go together")
        if in_chunks and self.over != "pages":
            raise ValueError(f"chunk_characters: only pages are read in chunks, and no {self.over}")
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
        if self.wants.unpredicted and self.over != "pages":
            raise ValueError(f"wants: unpredicted: the learned model types pages, not {self.over}")
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
        _ = self.table  # so that an error in it shows when the file is loaded
        if self.is_of_code:
            check_filled(self.answer_schema, self.rows.each)
        elif self.rows.quotes and not (self.shows_pages or self.searched):
            raise ValueError("rows.quotes: no evidence is from a page, so nothing can be quoted")
        return self

    @property
    def name(self) -> str:
        """Its name, and that of its table, asset and journals."""
        return f"{self.key}{_SHADOW}{self.version}" if self.shadow else self.key

    @property
    def is_of_code(self) -> bool:
        """Whether code answers it, and no model."""
        return self.kind in CODE_KINDS

    @property
    def is_space(self) -> bool:
        """Whether a model answers it with vectors of passages."""
        return self.kind == "embedding"

    @property
    def reads_pages(self) -> bool:
        """Whether its items need their pages' text: for evidence, for a function, or to find quotes in.

        A question about an entity may do without: its evidence may come from queries alone.
        """
        if self.kind == "model" and self.over == "entities":
            return self.shows_pages
        return self.kind not in {"sql", "embedding", "search"} or bool(self.rows.quotes)

    @property
    def shows_pages(self) -> bool:
        """Whether some evidence is of the page that an item is about."""
        return any(isinstance(spec, _OF_PAGES) for spec in self.evidence)

    @property
    def searched(self) -> SearchEvidence | None:
        """Its evidence that a search finds, if it has some."""
        return next((spec for spec in self.evidence if isinstance(spec, SearchEvidence)), None)

    @property
    def models(self) -> tuple[str, ...]:
        """The models to ask, best first: HOLOCRON_MODEL alone, or its own; for code, its kind.

        A space always asks its own: HOLOCRON_MODEL is a model that writes.
        """
        if self.is_of_code:
            return (self.kind,)
        if self.is_space:
            return (self.model, *self.alternatives)
        override = os.environ.get("HOLOCRON_MODEL")
        return (override,) if override else (self.model, *self.alternatives)

    @cached_property
    def table(self) -> Table:
        """The table of its answers."""
        name = f"shadow_{self.key}_{self.version}" if self.shadow else f"derived_{self.key}"
        name = self.key if self.is_space else name
        return derived_table(
            name,
            over=self.over,
            schema=self.answer_schema,
            each=self.rows.each,
            title=self.title,
            quotes=self.rows.quotes,
            origin=RANKING if self.search else (),
        )

    @cached_property
    def answer_columns(self) -> tuple[str, ...]:
        """Names of the columns for the answer itself; of a search, for what it found, without its scores."""
        names = [column.name for column in answer_columns(self.answer_schema, self.rows.each)]
        return tuple(name for name in names if not self.search or name not in RANKING)

    @property
    def asks_the_lake(self) -> bool:
        """Whether it asks queries of the lake."""
        return bool(self.queries)

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries about an item: those of its evidence, or its own."""
        own = () if self.sql is None else (self.sql,)
        return (*own, *(spec.sql for spec in self.evidence if isinstance(spec, SqlEvidence)))

    @property
    def relations_of_queries(self) -> AbstractSet[tuple[str, str]]:
        """Schema and name of each relation that these queries read."""
        return frozenset[tuple[str, str]]().union(*map(relations_named, self.queries))

    @property
    def relations_of_condition(self) -> AbstractSet[tuple[str, str]]:
        """Schema and name of each relation that its condition reads in addition to the row."""
        return frozenset() if self.wants.sql is None else relations_of_condition(self.wants.sql)

    @property
    def upstream(self) -> tuple["Interrogation", ...]:
        """Its `inputs`, in their order, once it is linked; see `chains.linked`."""
        return self._upstream

    @property
    def tables_read(self) -> tuple[Table, ...]:
        """Tables that its queries read, by name, once it is linked."""
        return self._tables_read

    def reading(self, upstream: Iterable["Interrogation"], tables: Iterable[Table]) -> "Interrogation":
        """The same interrogation, linked to its inputs and to the tables that its queries read."""
        known = self.model_copy()
        known._know(tuple(upstream), tuple(tables))  # noqa: SLF001 - it is of this class
        return known

    def _know(self, upstream: tuple["Interrogation", ...], tables: tuple[Table, ...]) -> None:
        self._upstream, self._tables_read = upstream, tables

    @cached_property
    def schema_version(self) -> str:
        """A hash of the schema of its answers."""
        return _hash(self.answer_schema)

    @cached_property
    def prompt_version(self) -> str:
        """A hash of all that shapes a request, except the model, its options and the evidence itself.

        For code, a hash of the code and of the answer's schema.
        """
        if self.is_of_code:
            return _hash([self.code_version, self.answer_schema])
        if self.embedding:
            return _hash([self.version, self.embedding.model_dump(mode="json"), self.answer_schema])
        shaping = {"prompt", "question", "examples", "answer_schema", "evidence", "redact"}
        shaping |= {"chunk_characters", "follow_up", "retry_prompt"}
        vocabulary = load_taxonomy().model_dump(mode="json")
        return _hash([self.model_dump(mode="json", include=shaping), vocabulary])

    @cached_property
    def code_version(self) -> str:
        """A hash of the query, the function's module, the search or the space, with the author's version."""
        if self.embedding:
            return self.prompt_version
        code: Any = self.sql
        if self.function is not None:
            code = [self.function, function_version(self.function)]
        elif self.search is not None:
            code = [self.search.model_dump(mode="json"), code_version(SEARCH)]
        return _hash([self.kind, self.version, code])


def _hash(value: Any) -> str:
    # The order of keys is kept: a model writes an answer's properties in the schema's order.
    return content_hash(json.dumps(value, ensure_ascii=False))[:16]
