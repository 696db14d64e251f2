"""The report of a trial: what was asked, what both answers say, and what asking all of it would cost."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from holocron_assets.trials.comparison import JudgedRow, SideTotals

LiveStatus = Literal["answered", "given up", "not asked"]


@dataclass(frozen=True)
class TriedItem:
    """One item of the sample.

    Attributes:
        subject: what was asked about, for people.
        partition: its batch or entity type.
        item_id: its id in the partition.
        title_key: title key of its page; None for a pair.
        entity_ids: entities that stand for it now.
        problem: why there is no new answer; None if there is one.
        live: what became of the same question as it counts today.
        calls: how many; 0 if code answered.
        failed_calls: outcome and reason of calls that gave no valid answer.
        tokens_in: tokens read.
        tokens_out: tokens written.
        seconds: of its calls, or of its function; None if they were not measured.
        rows: what both answers say.
    """

    subject: str
    partition: str
    item_id: str
    title_key: int | None
    entity_ids: tuple[str, ...]
    problem: str | None
    live: LiveStatus
    calls: int
    failed_calls: tuple[str, ...]
    tokens_in: int
    tokens_out: int
    seconds: float | None
    rows: tuple[JudgedRow, ...]


@dataclass(frozen=True)
class Totals:
    """The figures of a trial.

    Attributes:
        items: items that were asked about.
        answered: those with a new answer.
        answered_live: those with an answer that counts today.
        same: rows that both answers have.
        new: rows of all new answers.
        live: rows of the answers that count today.
        calls: calls made.
        failed_calls: those that gave no valid answer.
        tokens_in: tokens read.
        tokens_out: tokens written.
        seconds: in which something was asked; None if they were not measured.
    """

    items: int
    answered: int
    answered_live: int
    same: int
    new: SideTotals
    live: SideTotals
    calls: int
    failed_calls: int
    tokens_in: int
    tokens_out: int
    seconds: float | None


@dataclass(frozen=True)
class Cost:
    """What asking all of it would cost.

    Attributes:
        wanted: items that the interrogation wants; of pages that are read in chunks, an estimate.
        answered: items with an answer that counts today, of the interrogation of the same name.
        asks_otherwise: whether today's answers go stale, as the request about an item is another one.
        to_ask: items that would be asked about.
        seconds_an_item: as the trial took; None if it was not measured.
        hours: of all, on this machine, without loading the model.
        load_seconds: for which the model was loaded once; 0 if it was there.
    """

    wanted: int
    answered: int
    asks_otherwise: bool
    to_ask: int
    seconds_an_item: float | None
    hours: float | None
    load_seconds: float


@dataclass(frozen=True)
class Report:
    """A trial.

    Attributes:
        tag: its name.
        interrogation: the interrogation that was tried.
        version: its version.
        prompt_version: a hash of what it asks, or of its code.
        over: what it asks about.
        kind: what answers it.
        model: the model, or the kind of code.
        model_digest: the model's digest, or what runs the code.
        compared_with: the interrogation whose answers count today and are shown beside, and its version; None
            if there is none, or if it reads pages in other chunks.
        tried_at: when it was judged.
        items: the sample.
        totals: its figures.
        cost: what asking all of it would cost.
        notes: what a reader of the figures should know.
    """

    tag: str
    interrogation: str
    version: int
    prompt_version: str
    over: str
    kind: str
    model: str
    model_digest: str
    compared_with: str | None
    tried_at: datetime
    items: tuple[TriedItem, ...]
    totals: Totals
    cost: Cost
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Everything, as JSON values; each row also with the verdict that counts."""
        report = asdict(self)
        for item, row_item in zip(report["items"], self.items, strict=True):
            item["rows"] = [{**asdict(row), "verdict": row.verdict} for row in row_item.rows]
        return {**report, "tried_at": self.tried_at.isoformat()}
