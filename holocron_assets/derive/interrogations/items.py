"""The items of an interrogation: each page, chunk of a page or pair that it asks about, with its request."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import duckdb

from holocron_assets.derive.evidence.bundles import Bundle, EvidenceError, Redact, build_bundle
from holocron_assets.derive.evidence.chunks import Chunk, page_chunks
from holocron_assets.derive.evidence.item_queries import asking_at_once
from holocron_assets.derive.evidence.page_parts import PageParts, query_values
from holocron_assets.derive.evidence.queries import AskSql, QueryRows, locked_database, remembering
from holocron_assets.derive.evidence.redaction import Redactor
from holocron_assets.derive.evidence.room import fitting, room_for_evidence
from holocron_assets.derive.interrogations.conditions import TYPE_TABLES
from holocron_assets.derive.interrogations.follow_ups import FollowUpDecision, decide
from holocron_assets.derive.interrogations.inputs import (
    InputAnswers,
    Subject,
    input_answers,
    input_variables,
    subject_of,
)
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.item_pages import (
    PAIRS_AT_A_TIME,
    missing_page,
    pages_of,
    pages_of_pairs,
)
from holocron_assets.derive.interrogations.prompting import system_part, user_part
from holocron_assets.derive.interrogations.questions import page_variables, pair_variables, redacted
from holocron_assets.derive.interrogations.templates import TemplateError, rendered
from holocron_assets.derive.interrogations.tokens import TOKENS_OF_A_TURN, estimate_tokens
from holocron_assets.derive.interrogations.wanted import Superseded, wanted_rows
from holocron_assets.lake.freshness import Derivation
from holocron_assets.lake.keys import content_hash
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Row
from holocron_assets.lake.tables import ENTITY_PAIRS, PAGE_SIGNALS, PAGES
from holocron_assets.lake.versions import room_version

Pages = Mapping[str, PageParts]


@dataclass(frozen=True, eq=False, kw_only=True)
class Item:
    """What is asked about one page, chunk of a page or pair of entities.

    Attributes:
        interrogation: what is asked.
        partition: the batch, or entity type, that it belongs to.
        item_id: unique in the partition: the page's title key, with '#' and the chunk's number if there is
            one; or the pair's id.
        source: the page's; of a pair, the first's.
        subject: a title, or two, for people; redacted if the interrogation says so.
        row: the columns that its rows share, whatever the answer.
        bundle: the evidence.
        system: the part of the request that all items share.
        variables: what templates may name, redacted if the interrogation says so.
        question: what is asked, after the evidence.
        problem: why it cannot be asked, naming the page.
        is_transient: whether the problem may be gone when its evidence is gathered again. Any other stays
            until page or interrogation changes.
        waits_for: the input that has no answer about it yet; it has no evidence and no question until then.
        inputs_hash: a hash of what its inputs say; None where it has none.
        gather: its evidence again, cut to so many bytes.
    """

    interrogation: Interrogation
    partition: str
    item_id: str
    source: str | None
    subject: str
    row: Mapping[str, Any]
    bundle: Bundle
    system: str = field(repr=False)
    variables: Mapping[str, Any] = field(repr=False)
    question: str
    problem: str | None = None
    is_transient: bool = False
    waits_for: str | None = None
    inputs_hash: str | None = None
    gather: Callable[[int], Bundle] = field(repr=False)

    @property
    def user(self) -> str:
        """The part of the request that is about this item."""
        return user_part(self.bundle.text, self.question)

    @property
    def estimated_tokens(self) -> int:
        """Tokens of the first request, rather too many than too few; without those of its answer."""
        return estimate_tokens(self.system) + estimate_tokens(self.user) + 2 * TOKENS_OF_A_TURN

    def result_key(self, digest: str) -> str:
        """A hash of all that the answer depends on: with the same key, no model is asked again.

        Args:
            digest: of the model that is asked.
        """
        asked: list[Any] = [self.system, self.user, self.interrogation.retry_prompt]
        if self.interrogation.follow_up:
            steps = self.interrogation.model_dump(mode="json", include={"follow_up"})
            asked += [steps["follow_up"], json.dumps(self.variables)]
        options = self.interrogation.options.model_dump()
        return content_hash(json.dumps([asked, self.interrogation.schema_version, digest, options]))

    def following(self, answers: Sequence[Mapping[str, Any]]) -> FollowUpDecision | None:
        """What is asked after some answers, and why; None if all steps were taken.

        Args:
            answers: those so far, the first first; they fit the schema.

        Raises:
            TemplateError: the condition or the template cannot be filled in with these answers.
        """
        decision = decide(self.interrogation.follow_up, self.variables, answers)
        if decision is None or decision.question is None:
            return decision
        return replace(decision, question=user_part("", decision.question))

    def retry_text(self, error: str) -> str | None:
        """What is said after an answer that could not be used; None if the engine is to say it its own way.

        Args:
            error: what was wrong with it.

        Raises:
            TemplateError: the template cannot be filled in with this error.
        """
        template = self.interrogation.retry_prompt
        if template is None:
            return None
        return user_part("", rendered(template, {**self.variables, "error": error}))

    def shrunk(self, share: float) -> "Item | None":
        """The same item with less evidence, for a server that found the request too long.

        Args:
            share: how much of the evidence's bytes may stay, between 0 and 1.

        Returns:
            None where there is nothing to cut, or nothing would be left.
        """
        size = len(self.bundle.text.encode())
        bundle = self.gather(int(size * share))
        if not bundle.items or len(bundle.text) >= len(self.bundle.text):
            return None
        return replace(self, bundle=bundle)


WaitsFor = Callable[[Subject], str | None]
"""The input that has no answer about a subject yet, and may get one; None if none lacks."""


def wanted_items(
    lake: Lake,
    interrogation: Interrogation,
    partition: str,
    *,
    superseded: Superseded = (),
    waits_for: WaitsFor = lambda _: None,
) -> Iterator[Item]:
    """Every item of a partition that an interrogation wants, in the order of its pages or pairs.

    The same lake gives the same items. One whose evidence cannot be gathered says so in `problem`.

    Args:
        lake: where pages are, and what queries read.
        interrogation: what is asked.
        partition: a batch; for pairs, an entity type.
        superseded: pages to leave out.
        waits_for: says which items wait for their inputs.

    Raises:
        MissingPartitionError: pages, signals, types or pairs of the partition are not there yet.
        ConditionError: the interrogation's condition failed on a page.
    """
    rows = wanted_rows(lake, interrogation, partition, superseded=superseded)
    answers = input_answers(lake, interrogation, partition)
    maker = _Maker(interrogation, partition, system_part(interrogation), answers, waits_for)
    with ExitStack() as stack:
        database = stack.enter_context(locked_database(lake)) if interrogation.asks_the_lake else None
        if interrogation.over == "pairs":
            of_pairs = pages_of_pairs(lake, rows)
            while some := list(islice(of_pairs, PAIRS_AT_A_TIME)):
                with _asking(database, [pages for _, pages in some]) as ask_sql:
                    yield from [maker.of_pair(pair, pages, ask_sql) for pair, pages in some]
            return
        found = pages_of(lake, partition, [row["title"] for row in rows])
        with _asking(database, [{"page": found[row["title"]]} for row in rows]) as ask_sql:
            for row in rows:
                yield from maker.of_page(row, found[row["title"]], ask_sql)


@contextmanager
def _asking(database: duckdb.DuckDBPyConnection | None, items: Sequence[Pages]) -> Iterator[AskSql | None]:
    """What asks queries about some items; None where no evidence is a query."""
    if database is None:
        yield None
        return
    with asking_at_once(database, [query_values(pages) for pages in items]) as ask_sql:
        yield ask_sql


def derivation_of(interrogation: Interrogation) -> Derivation:
    """How an interrogation's table follows from others. What it says itself is not in the code's version."""
    inputs = (
        (ENTITY_PAIRS,)
        if interrogation.over == "pairs"
        else (PAGES, PAGE_SIGNALS, TYPE_TABLES[interrogation.wants.of])
    )
    return Derivation(
        interrogation.table,
        inputs,
        (),
        room_version("holocron_assets.derive"),
        optional_inputs=tuple(one.table for one in interrogation.upstream),
    )


@dataclass(frozen=True)
class _Maker:
    """Makes the items of one partition.

    Attributes:
        interrogation: what is asked.
        partition: of the items.
        system: the part of requests that all share.
        answers: what its inputs say.
        waits_for: says which items wait for them.
    """

    interrogation: Interrogation
    partition: str
    system: str
    answers: InputAnswers
    waits_for: WaitsFor

    def of_page(self, row: Row, page: PageParts, ask_sql: AskSql | None) -> Iterator[Item]:
        redact = self._redact()
        characters = self.interrogation.chunk_characters
        # Redacted before it is cut: the end of a chunk could fall into a secret.
        chunks: tuple[Chunk | None, ...] = (
            page_chunks(redact(page.text), characters) if characters else (None,)
        )
        for chunk in chunks:
            part = f"#{chunk.number}" if chunk else ""
            yield self._item(
                {"page": replace(page, chunk=chunk)},
                page_variables(row, chunk, len(chunks)),
                redact,
                ask_sql,
                about=subject_of("pages", row),
                item_id=f"{row['title_key']}{part}",
                source=row["source"],
                subject=f"{row['title']}{part}",
                row={
                    **{name: row[name] for name in ("source", "batch", "title", "title_key", "revision_id")},
                    "chunk": chunk.number if chunk else None,
                },
            )

    def of_pair(self, pair: Row, pages: Pages, ask_sql: AskSql | None) -> Item:
        names = ("entity_type", "first_id", "second_id", "first_title", "second_title")
        return self._item(
            pages,
            pair_variables(pair),
            self._redact(),
            ask_sql,
            missing_page(pair, pages),
            about=subject_of("pairs", pair),
            item_id=pair["pair_id"],
            source=pair["first_source"],
            subject=f"{pair['first_title']} and {pair['second_title']}",
            row={name: pair[name] for name in names},
        )

    def _redact(self) -> Redact:
        """What takes secrets out of texts, if it is to: the same secret is always called the same."""
        return Redactor().redact if self.interrogation.redact else str

    def _item(  # noqa: PLR0913 - it is what all items are made of
        self,
        pages: Pages,
        variables: Mapping[str, Any],
        redact: Redact,
        ask_sql: AskSql | None,
        lack: str | None = None,
        *,
        about: Subject,
        subject: str,
        **known: Any,
    ) -> Item:
        gather = partial(self._gather, pages, remembering(ask_sql), self.answers.tables(about), redact)
        variables = {**variables, **input_variables(self.interrogation, self.answers.about(about))}
        waits_for = self.waits_for(about)
        problem, is_transient, bundle, question = lack, False, Bundle((), ()), ""
        try:
            if lack is None and waits_for is None:
                # The question's length is needed before the evidence is gathered, its redaction after it.
                bundle = fitting(gather, self._room(variables))
                variables = redacted(variables, redact)
                question = rendered(self.interrogation.question, variables)
        except (EvidenceError, TemplateError) as error:
            problem = str(error)
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
            is_transient=is_transient,
            waits_for=waits_for,
            inputs_hash=self.answers.hash_of(about),
            gather=gather,
            **known,
        )

    def _room(self, variables: Mapping[str, Any]) -> int:
        question = rendered(self.interrogation.question, variables)
        return room_for_evidence(self.interrogation, self.system, question)

    def _gather(
        self,
        pages: Pages,
        ask_sql: AskSql | None,
        answers: Mapping[str, QueryRows],
        redact: Redact,
        limit_bytes: int,
    ) -> Bundle:
        specs = self.interrogation.evidence
        return build_bundle(specs, pages, ask_sql, answers=answers, redact=redact, limit_bytes=limit_bytes)
