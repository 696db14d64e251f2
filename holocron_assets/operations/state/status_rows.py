"""Rows of the views of the status. A test compares their names with the views' columns."""

from dataclasses import dataclass
from datetime import datetime

STAGES = ("pages", "page_types", "interrogations", "entities", "files", "review")
"""The stages of work, in the order in which people read them."""

OF_HOSTS = ("pages", "files")
"""Stages whose work is of hosts, which may be left alone for now."""

BY_PEOPLE = "review"
"""The stage that waits for people. They may take any time, so it is never late or stuck."""


@dataclass(frozen=True)
class Stage:
    """How much is in which state at one stage: a row of `processing_status`.

    Attributes:
        stage: one of `STAGES`.
        source: the source; None where there is none.
        interrogation: of stage 'interrogations', which.
        pending: to be done, and may be done now.
        in_flight: being done.
        waiting: failed, and due later.
        review: waiting for a person.
        dead: given up.
        skipped: not wanted.
        done: done.
        oldest_at: since when the oldest item that is to be done waits.
        next_due_at: when the first of the waiting items is due.
    """

    stage: str
    source: str | None
    interrogation: str | None
    pending: int
    in_flight: int
    waiting: int
    review: int
    dead: int
    skipped: int
    done: int
    oldest_at: datetime | None
    next_due_at: datetime | None


@dataclass(frozen=True)
class Queue:
    """How fast the work of one stage comes and goes: a row of `queue_health`.

    Attributes:
        stage: as of a `Stage`.
        source: as of a `Stage`.
        interrogation: as of a `Stage`.
        depth: items to be done now or later, or being done.
        oldest_at: since when the oldest of them waits.
        oldest_minutes: how long that is.
        in_last_hour: items that became work in the last hour.
        out_last_hour: items done in the last hour; None where no time is known.
        failed_last_hour: attempts that failed in the last hour.
        dead_last_hour: items given up in the last hour.
        last_done_at: when the last one was done; None if none was for a day.
        eta_minutes: how long the rest takes at the rates of the last hour; None if it does not become less.
    """

    stage: str
    source: str | None
    interrogation: str | None
    depth: int
    oldest_at: datetime | None
    oldest_minutes: float | None
    in_last_hour: int
    out_last_hour: int | None
    failed_last_hour: int
    dead_last_hour: int
    last_done_at: datetime | None
    eta_minutes: float | None

    @property
    def in_vain_last_hour(self) -> int:
        """Attempts of the last hour that failed or made an item be given up."""
        return self.failed_last_hour + self.dead_last_hour


@dataclass(frozen=True)
class AgedWork:
    """What waits for longer than an hour: a row of `aged_work`.

    Attributes:
        stage: as of a `Stage`.
        source: as of a `Stage`.
        interrogation: as of a `Stage`.
        items: all items to be done.
        over_60_minutes: those that wait for so long.
        over_240_minutes: those that wait for so long.
        over_1440_minutes: those that wait for so long.
        oldest_at: since when the oldest waits.
    """

    stage: str
    source: str | None
    interrogation: str | None
    items: int
    over_60_minutes: int
    over_240_minutes: int
    over_1440_minutes: int
    oldest_at: datetime


@dataclass(frozen=True)
class FailureCause:
    """Failures of the last day with one cause: a row of `failures`.

    Attributes:
        stage: the stage, 'requests', 'calls' or 'runs'.
        source: the source, if there is one.
        interrogation: the interrogation, if there is one.
        job: the job, for a run of Dagster.
        cause: the error, without what differs from page to page; for a page that could not be read, after the
            tables whose steps failed.
        failures: how often.
        dead: how many of these were given up.
        example: the page, batch, pair or run's partition where it happened last.
        first_at: when it was first seen.
        last_at: when it was last seen.
    """

    stage: str
    source: str | None
    interrogation: str | None
    job: str | None
    cause: str
    failures: int
    dead: int
    example: str | None
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True)
class Hour:
    """The results of one stage in one hour: a row of `throughput`.

    Attributes:
        hour: when it began.
        stage: as of a `Stage`, or 'requests' or 'calls'.
        source: as of a `Stage`.
        interrogation: as of a `Stage`.
        done: how many were done.
        failed: how many failed for now.
        dead: how many were given up.
    """

    hour: datetime
    stage: str
    source: str | None
    interrogation: str | None
    done: int
    failed: int
    dead: int


@dataclass(frozen=True)
class Reason:
    """How much is in one state for one reason: a row of `processing_reasons`.

    Attributes:
        stage: as of a `Stage`.
        source: as of a `Stage`.
        interrogation: as of a `Stage`.
        status: the state, in the words of this stage.
        reason: why; for types and entities the type, for pages that could not be read the tables whose
            steps failed, for questions to people the kind.
        items: how many.
    """

    stage: str
    source: str | None
    interrogation: str | None
    status: str
    reason: str | None
    items: int
