"""Makes the report of a trial: reads its answers and those that count today, judges and counts their rows."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from holocron_assets.derive.dispatch.tallies import answered_count
from holocron_assets.derive.evidence.specs import PageEvidence
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.derived_rows import derived_rows
from holocron_assets.derive.items.items import Item
from holocron_assets.derive.items.pages import pages_of
from holocron_assets.derive.repeat.experiments import answers_of, calls_of, load_seconds
from holocron_assets.derive.results.kept_answers import scope_of
from holocron_assets.entities.facts.checks import failed_checks
from holocron_assets.entities.facts.marked_statements import Marked
from holocron_assets.entities.facts.sentences import PageRead
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.parquet import rows_there
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, LLM_RUNS
from holocron_assets.lake.views.database import connect, query
from holocron_assets.trials.claims import claim_of, compared_columns, identity_of, words_of
from holocron_assets.trials.comparison import JudgedRow, Matched, side_by_side, side_totals
from holocron_assets.trials.cost import call_figures, cost_of, seconds_asked
from holocron_assets.trials.report import Cost, Report, Totals, TriedItem
from holocron_assets.trials.truth import Truth

_RUN_COLUMNS = ("item_id", "status", "result_key")
_NOW = """
    select title_key, entity_id from lake.entities
    where valid_to is null and merged_into is null and list_contains($keys, title_key)
    order by entity_id
"""


@dataclass(frozen=True)
class Trial:
    """A trial whose items were asked about.

    Attributes:
        tag: its name, and that of its experiment.
        tried: what was asked.
        live: the interrogation that it is compared with, if there is one.
        items: the sample.
    """

    tag: str
    tried: Interrogation
    live: Interrogation | None
    items: Sequence[Item]


def report_of(lake: Lake, trial: Trial, marked: Iterable[Marked]) -> Report:
    """The report of a trial.

    Args:
        lake: where its answers, and those that count today, are.
        trial: the trial.
        marked: the sheet of marked statements.
    """
    return _Reporting(lake, trial, marked).report()


class _Reporting:
    """One report under way."""

    def __init__(self, lake: Lake, trial: Trial, marked: Iterable[Marked]) -> None:
        self._lake, self._tag = lake, trial.tag
        self._items = items = trial.items
        self._tried, self._named, live = trial.tried, trial.live, trial.live
        is_chunked_alike = live is not None and live.chunk_characters == trial.tried.chunk_characters
        self._live = live if is_chunked_alike else None
        self._columns = compared_columns(self._tried, self._live)
        self._answers = {
            (row["partition"], row["item_id"]): row for row in answers_of(lake, trial.tag) if row["time"] == 1
        }
        asked = {_place(item) for item in items}
        self._calls = [
            row for row in calls_of(lake, trial.tag) if (row["partition"], row["item_id"]) in asked
        ]
        self._live_rows = _by_item(lake, self._live.table, items) if self._live else {}
        self._live_runs = _runs(lake, self._live, items) if self._live else {}
        self._truth = Truth(lake, items, marked)
        self._pages = _pages(lake, items)

    def report(self) -> Report:
        """All of it."""
        tried, entities = self._tried, _entities(self._lake, self._items)
        items = tuple(self._item(item, entities) for item in self._items)
        answers = [self._answers[_place(item)] for item in self._items]
        live = self._live
        return Report(
            tag=self._tag,
            interrogation=tried.name,
            version=tried.version,
            prompt_version=tried.prompt_version,
            over=tried.over,
            kind=tried.kind,
            model=answers[0]["model"],
            model_digest=answers[0]["model_digest"],
            compared_with=f"{live.name} {live.version}" if live else None,
            tried_at=utc_now(),
            items=items,
            totals=self._totals(items, seconds_asked(answers, self._calls)),
            cost=self._cost(answers),
            notes=tuple(self._notes()),
        )

    def _item(self, item: Item, entities: Mapping[int, Sequence[str]]) -> TriedItem:
        answer = self._answers[_place(item)]
        run = self._live_runs.get(_place(item))
        calls = [row for row in self._calls if (row["partition"], row["item_id"]) == _place(item)]
        figures = call_figures(calls)
        key = item.row.get("title_key")
        named = [item.row[name] for name in ("entity_id", "first_id", "second_id") if name in item.row]
        return TriedItem(
            subject=item.subject,
            partition=item.partition,
            item_id=item.item_id,
            title_key=key,
            entity_ids=tuple(named or entities.get(key or 0, ())),
            problem=answer["error"],
            live="not asked" if run is None else "answered" if run["status"] == "ok" else "given up",
            calls=figures["calls"],
            failed_calls=tuple(figures["failed_calls"]),
            tokens_in=figures["tokens_in"],
            tokens_out=figures["tokens_out"],
            seconds=answer["seconds"],
            rows=tuple(self._rows(item, answer)),
        )

    def _rows(self, item: Item, answer: Row) -> Iterator[JudgedRow]:
        output = None if answer["output"] is None else json.loads(answer["output"])
        own = {"model": answer["model"], "digest": answer["model_digest"], "run_id": self._tag}
        new = [] if output is None else derived_rows(item, output, **own)
        title = item.row.get("title", "")

        def identity(row: Row) -> tuple[str, ...]:
            return identity_of(row, claim_of(row, title), self._columns)

        for matched in side_by_side(new, self._live_rows.get(_place(item), ()), identity):
            yield self._judged(item, matched, title)

    def _judged(self, item: Item, matched: Matched, title: str) -> JudgedRow:
        row, is_new = matched.row, matched.side != "live"
        claim = claim_of(row, title)
        quotes = self._tried.rows.quotes or ("evidence",)
        return JudgedRow(
            side=matched.side,
            words=words_of(row, claim, self._columns),
            evidence=" ... ".join(text for name in quotes if isinstance(text := row.get(name), str)),
            failed=self._failed(item, row if is_new else None, title),
            failed_live=self._failed(item, matched.live, title),
            verdicts=self._truth.verdicts(item, claim) if claim else {},
            is_double=matched.is_double,
        )

    def _failed(self, item: Item, row: Row | None, title: str) -> tuple[str, ...]:
        """The checks that a row fails; of rows that state nothing, whether their quotes are there."""
        if row is None:
            return ()
        claim, page = claim_of(row, title), self._pages.get((item.partition, title))
        if claim and claim.said and page:
            return tuple(failed_checks(claim.said, page))
        return () if row["supported"] else ("quote",)

    def _totals(self, items: Sequence[TriedItem], seconds: float | None) -> Totals:
        rows = [row for item in items for row in item.rows]
        return Totals(
            items=len(items),
            answered=sum(item.problem is None for item in items),
            answered_live=sum(item.live == "answered" for item in items),
            same=sum(row.side == "same" for row in rows),
            new=side_totals(rows, "new"),
            live=side_totals(rows, "live"),
            calls=sum(item.calls for item in items),
            failed_calls=sum(len(item.failed_calls) for item in items),
            tokens_in=sum(item.tokens_in for item in items),
            tokens_out=sum(item.tokens_out for item in items),
            seconds=seconds,
        )

    def _cost(self, answers: Sequence[Row]) -> Cost:
        keys = {_place(item): answer["result_key"] for item, answer in zip(self._items, answers, strict=True)}
        runs = _runs(self._lake, self._tried, self._items)
        known = {place: run for place, run in runs.items() if run["status"] == "ok"}
        replaced = self._named if self._named and self._named.name == self._tried.name else None
        asks_otherwise = (
            any(run["result_key"] != keys[place] for place, run in known.items())
            if known
            else _versions(self._tried) != _versions(replaced)
        )
        return cost_of(
            self._lake,
            self._tried,
            self._items,
            answered=answered_count(self._lake, self._tried),
            asks_otherwise=asks_otherwise,
            seconds=seconds_asked(answers, self._calls),
            load_seconds=load_seconds(self._lake, self._tag),
        )

    def _notes(self) -> Iterator[str]:
        if self._named is None:
            yield f"No interrogation called {self._tried.key} counts today: there is nothing to compare with."
        elif self._live is None:
            yield f"{self._named.name} reads pages in other chunks: its answers are not shown."
        if any(
            isinstance(spec, PageEvidence) and spec.part in {"infobox", "all"}
            for spec in self._tried.evidence
        ):
            yield "The question shows the infobox: what rules read there says little about these answers."


def _versions(one: Interrogation | None) -> tuple[object, ...]:
    """What an answer depends on, besides model and evidence."""
    return () if one is None else (one.prompt_version, one.schema_version, one.options, one.models)


def _place(item: Item) -> tuple[str, str]:
    return item.partition, item.item_id


def _by_item(lake: Lake, table: Table, items: Sequence[Item]) -> Mapping[tuple[str, str], Sequence[Row]]:
    """The rows of a table about some items, in their order."""
    wanted = {_place(item) for item in items}
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for partition in sorted({partition for partition, _ in wanted}):
        for row in rows_there(lake, table, partition):
            if (partition, row["item_id"]) in wanted:
                found[partition, row["item_id"]].append(row)
    return found


def _runs(lake: Lake, asked: Interrogation, items: Sequence[Item]) -> Mapping[tuple[str, str], Row]:
    """The rows of `llm_runs` of an interrogation about some items."""
    wanted = {_place(item) for item in items}
    found: dict[tuple[str, str], Row] = {}
    for partition in sorted({partition for partition, _ in wanted}):
        rows = rows_there(lake, LLM_RUNS, scope_of(asked.name, partition), _RUN_COLUMNS)
        found |= {(partition, row["item_id"]): row for row in rows if (partition, row["item_id"]) in wanted}
    return found


def _entities(lake: Lake, items: Sequence[Item]) -> Mapping[int, Sequence[str]]:
    """The entities that stand for pages now, by title key."""
    keys = [item.row["title_key"] for item in items if "title_key" in item.row]
    found: dict[int, list[str]] = defaultdict(list)
    if keys:
        with connect(lake, tables=[ENTITIES]) as connection:
            for row in query(connection, _NOW, {"keys": keys}):
                found[row["title_key"]].append(row["entity_id"])
    return found


def _pages(lake: Lake, items: Sequence[Item]) -> Mapping[tuple[str, str], PageRead]:
    """The text of the pages that items are about, by batch and title."""
    titles: dict[str, set[str]] = defaultdict(set)
    for item in items:
        if item.interrogation.over == "pages":
            titles[item.partition].add(item.row["title"])
    return {
        (batch, title): PageRead(title, page.part("text"), page.site.language)
        for batch, wanted in titles.items()
        for title, page in pages_of(lake, batch, wanted).items()
    }
