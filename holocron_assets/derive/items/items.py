"""The items of an interrogation: each page, chunk, pair or entity that it asks about, made from the lake."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import duckdb

from holocron_assets.derive.code.given import CodeItem, FoundRows, code_item, found_rows
from holocron_assets.derive.evidence.bundles import NO_EVIDENCE, Bundle, EvidenceError, Redact, build_bundle
from holocron_assets.derive.evidence.chunks import Chunk, page_chunks
from holocron_assets.derive.evidence.item_queries import asking_at_once
from holocron_assets.derive.evidence.page_parts import PageParts
from holocron_assets.derive.evidence.queries import (
    AskSql,
    QueryError,
    QueryRows,
    locked_database,
    remembering,
)
from holocron_assets.derive.evidence.redaction import Redactor
from holocron_assets.derive.evidence.room import fitting, room_for_evidence
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.questions import (
    entity_variables,
    page_variables,
    pair_variables,
    redacted,
)
from holocron_assets.derive.interrogations.templates import TemplateError, rendered
from holocron_assets.derive.items.inputs import (
    InputAnswers,
    Subject,
    input_answers,
    input_variables,
    subject_of,
)
from holocron_assets.derive.items.item import Item, Pages
from holocron_assets.derive.items.pages import (
    ROWS_AT_A_TIME,
    missing_page,
    pages_of,
    pages_of_rows,
)
from holocron_assets.derive.items.passages import PagePassages, passages_to_embed
from holocron_assets.derive.items.prompting import system_part
from holocron_assets.derive.items.searching import FindPassages, passages_about, search_module
from holocron_assets.derive.items.values import query_values_of
from holocron_assets.derive.items.wanted import Superseded, wanted_rows
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tracebacks import traceback_of

__all__ = ["Item", "wanted_items"]

_CODE_SECONDS = 60.0
"""How long a query of kind 'sql' may take about one item; about all, it may take some times longer."""

WaitsFor = Callable[[Subject], str | None]
"""Gives an input that may still get an answer about a subject; None if there is none."""


def wanted_items(
    lake: Lake,
    interrogation: Interrogation,
    partition: str,
    *,
    superseded: Superseded = (),
    waits_for: WaitsFor = lambda _: None,
) -> Iterator[Item]:
    """Every item of a partition that an interrogation wants, in the order of their rows.

    The same lake gives the same items. One whose evidence cannot be gathered says so in `problem`.

    Args:
        lake: where pages are, and what queries read.
        interrogation: what is asked.
        partition: a batch; for entities and pairs, an entity type.
        superseded: pages to leave out.
        waits_for: says which input a subject waits for.

    Raises:
        MissingPartitionError: pages, signals, types, entities or pairs of the partition do not exist yet.
        ConditionError: the interrogation's condition failed on a page.
    """
    rows = wanted_rows(lake, interrogation, partition, superseded=superseded)
    answers = input_answers(lake, interrogation, partition)
    system = system_part(interrogation) if interrogation.kind == "model" else ""
    space = interrogation.embedding
    passages = passages_to_embed(lake, space, partition) if space else {}
    with ExitStack() as stack:
        search = interrogation.search
        find = stack.enter_context(search_module().finding(lake, search)) if search and rows else None
        maker = _Maker(interrogation, partition, system, answers, waits_for, passages, find)
        database = (
            stack.enter_context(locked_database(lake, interrogation.relations_of_queries))
            if interrogation.asks_the_lake and rows
            else None
        )
        read = _read(lake, interrogation, partition, rows)
        # A partition over pages is a batch, and is held in memory as a whole.
        at_a_time = None if interrogation.over == "pages" else ROWS_AT_A_TIME
        while some := list(islice(read, at_a_time)):
            with _asking(database, interrogation, some) as ask_sql:
                yield from [item for row, pages in some for item in maker.made(row, pages, ask_sql)]


def _read(
    lake: Lake, interrogation: Interrogation, partition: str, rows: Sequence[Row]
) -> Iterator[tuple[Row, Pages]]:
    """Each wanted row with its pages; without pages where the interrogation does not read them."""
    if not interrogation.reads_pages:
        yield from ((row, {}) for row in rows)
    elif interrogation.over == "pages":
        found = pages_of(lake, partition, [row["title"] for row in rows])
        yield from ((row, {"page": found[row["title"]]}) for row in rows)
    else:
        yield from pages_of_rows(lake, interrogation.over, rows)


@contextmanager
def _asking(
    database: duckdb.DuckDBPyConnection | None,
    interrogation: Interrogation,
    items: Sequence[tuple[Row, Pages]],
) -> Iterator[AskSql | None]:
    """A function that asks queries about some items; None where there is no query."""
    if database is None:
        yield None
        return
    values = [query_values_of(interrogation.over, row, pages) for row, pages in items]
    with asking_at_once(database, values) as ask_sql:
        yield ask_sql


@dataclass(frozen=True)
class _Read:
    """The data that an item is made from.

    Attributes:
        row: of the table that it was chosen from.
        pages: the pages that it is about, by role.
        ask_sql: asks queries about it, if there are any.
        lack: why something that it needs is missing; None if nothing is.
    """

    row: Row
    pages: Pages
    ask_sql: AskSql | None
    lack: str | None = None


@dataclass(frozen=True)
class _Maker:
    """Makes the items of one partition.

    Attributes:
        interrogation: what is asked.
        partition: of the items.
        system: the part of requests that all share.
        answers: its inputs' answers.
        waits_for: says which input a subject waits for.
        passages: of a space, the passages of each page by title key.
        find: finds passages; None where nothing is searched.
    """

    interrogation: Interrogation
    partition: str
    system: str
    answers: InputAnswers
    waits_for: WaitsFor
    passages: Mapping[int, PagePassages]
    find: FindPassages | None

    def made(self, row: Row, pages: Pages, ask_sql: AskSql | None) -> Iterator[Item]:
        over = self.interrogation.over
        if over == "pages":
            yield from self._of_page(row, pages.get("page"), ask_sql)
            return
        is_lacking = over == "pairs" or self.interrogation.shows_pages
        lack = missing_page(over, row, pages) if self.interrogation.reads_pages and is_lacking else None
        read = _Read(row, pages, ask_sql, lack)
        yield self._of_pair(read) if over == "pairs" else self._of_entity(read)

    def _of_page(self, row: Row, page: PageParts | None, ask_sql: AskSql | None) -> Iterator[Item]:
        redact = self._redact()
        characters = self.interrogation.chunk_characters
        # Redacted before it is cut: a chunk could end inside a secret.
        chunks: tuple[Chunk | None, ...] = (
            page_chunks(redact(page.text), characters) if page and characters else (None,)
        )
        for chunk in chunks:
            part = f"#{chunk.number}" if chunk else ""
            yield self._item(
                _Read(row, {"page": replace(page, chunk=chunk)} if page else {}, ask_sql),
                page_variables(row, chunk, len(chunks)),
                redact,
                item_id=f"{row['title_key']}{part}",
                source=row["source"],
                subject=f"{row['title']}{part}",
                row={
                    **{name: row[name] for name in ("source", "batch", "title", "title_key", "revision_id")},
                    "chunk": chunk.number if chunk else None,
                },
            )

    def _of_pair(self, read: _Read) -> Item:
        pair = read.row
        names = ("entity_type", "first_id", "second_id", "first_title", "second_title")
        return self._item(
            read,
            pair_variables(pair),
            self._redact(),
            item_id=pair["pair_id"],
            source=pair["first_source"],
            subject=f"{pair['first_title']} and {pair['second_title']}",
            row={name: pair[name] for name in names},
        )

    def _of_entity(self, read: _Read) -> Item:
        entity = read.row
        return self._item(
            read,
            entity_variables(entity),
            self._redact(),
            item_id=entity["entity_id"],
            source=entity["source"],
            subject=entity["title"],
            row={name: entity[name] for name in ("entity_type", "entity_id", "name", "title")},
        )

    def _redact(self) -> Redact:
        """A function that takes secrets out of texts, if wanted: equal secrets get equal names."""
        return Redactor().redact if self.interrogation.redact else str

    def _item(
        self, read: _Read, variables: Mapping[str, Any], redact: Redact, *, subject: str, **known: Any
    ) -> Item:
        about = subject_of(self.interrogation.over, read.row)
        known["inputs_hash"] = self.answers.hash_of(about)
        known["waits_for"] = waits_for = self.waits_for(about)
        if self.interrogation.kind != "model":
            return self._item_without_prompt(read, variables, subject=subject, **known)
        read = replace(read, ask_sql=remembering(read.ask_sql))
        gather = partial(self._gather, read, self.answers.tables(about), redact)
        variables = {**variables, **input_variables(self.interrogation, self.answers.about(about))}
        problem, traceback, is_transient, bundle, question = read.lack, None, False, NO_EVIDENCE, ""
        try:
            if read.lack is None and waits_for is None:
                # First the question's length, then the evidence, then the question's redaction.
                bundle = fitting(gather, self._room(variables))
                variables = redacted(variables, redact)
                question = rendered(self.interrogation.question, variables)
        except (EvidenceError, TemplateError) as error:
            problem, traceback = str(error), redact(traceback_of(error))
            is_transient = isinstance(error, EvidenceError) and error.is_transient
        return Item(
            interrogation=self.interrogation,
            partition=self.partition,
            subject=redact(subject),
            bundle=bundle,
            system=self.system,
            variables=variables,
            question=question,
            problem=redact(f"{subject}: {problem}") if problem else None,
            traceback=traceback,
            is_transient=is_transient,
            gather=gather,
            **known,
        )

    def _item_without_prompt(
        self, read: _Read, variables: Mapping[str, Any], *, subject: str, **known: Any
    ) -> Item:
        interrogation, problem, traceback, is_transient = self.interrogation, read.lack, None, False
        given: FoundRows | CodeItem | PagePassages | None = None
        if known["waits_for"] is None:
            try:
                given = self._given(read, variables)
            except QueryError as error:
                problem, traceback, is_transient = str(error), traceback_of(error), error.is_transient
        return Item(
            interrogation=interrogation,
            partition=self.partition,
            subject=subject,
            bundle=NO_EVIDENCE,
            system="",
            variables=variables,
            question="",
            problem=problem and f"{subject}: {problem}",
            traceback=traceback,
            is_transient=is_transient,
            gather=lambda _: NO_EVIDENCE,
            given=given,
            quotable=read.pages if interrogation.rows.quotes else {},
            **known,
        )

    def _given(self, read: _Read, variables: Mapping[str, Any]) -> FoundRows | CodeItem | PagePassages:
        """What code reads of an item, or the passages to embed; raises `QueryError`."""
        interrogation = self.interrogation
        if interrogation.is_space:
            return self.passages.get(read.row["title_key"], PagePassages({}))
        if interrogation.sql is not None and read.ask_sql is not None:
            values = query_values_of(interrogation.over, read.row, read.pages)
            return found_rows(read.ask_sql(interrogation.sql, values, _CODE_SECONDS))
        if self.find is not None:
            return passages_about(interrogation, read.row, variables, self.find)
        inputs = self.answers.about(subject_of(interrogation.over, read.row))
        return code_item(variables, read.pages, inputs)

    def _room(self, variables: Mapping[str, Any]) -> int:
        question = rendered(self.interrogation.question, variables)
        return room_for_evidence(self.interrogation, self.system, question)

    def _gather(
        self, read: _Read, answers: Mapping[str, QueryRows], redact: Redact, limit_bytes: int
    ) -> Bundle:
        return build_bundle(
            *(self.interrogation.evidence, read.pages, read.ask_sql),
            answers=answers,
            values=query_values_of(self.interrogation.over, read.row, read.pages),
            redact=redact,
            limit_bytes=limit_bytes,
        )
