"""What became of an artifact once its candidates were tried: its row of table `files`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from holocron_assets.crawl.files.artifact import Artifact
from holocron_assets.crawl.files.transfers.receiving import stated_type
from holocron_assets.crawl.files.transfers.transfer import Transfer
from holocron_assets.crawl.frontier.attempts import settle_failure
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tracebacks import traceback_of

Status = Literal["ok", "missing", "refused", "failed"]
_OF_MANIFEST = ("source", "batch", "position", "name", "artifact_id", "artifact_key", "version")
_OF_BYTES = (
    *("sha256", "sha1", "size_bytes", "mime", "stated_mime", "url", "resolver", "etag", "last_modified"),
    *("fresh_until", "stored_at"),
)
_STATUSES: dict[str, Status] = {
    "missing": "missing",
    "refused": "refused",
    "wrong": "failed",
    "moved": "failed",
}


@dataclass(frozen=True)
class Outcome:
    """What became of an artifact.

    Attributes:
        status: as in table `files`.
        reason: in one word.
        tried: what became of each candidate, in order.
        error: what went wrong, for people; None if nothing did.
        due_at: when it may be tried again; None if that is for the caller to say.
        made: what describes the bytes; None if there are none.
        counts: whether this was an attempt at the artifact. It was none if its host is not asked for now.
        cause: the exception behind the error, if there is one.
    """

    status: Status
    reason: str
    tried: Sequence[Transfer] = ()
    error: str | None = None
    due_at: datetime | None = None
    made: Transfer | None = None
    counts: bool = True
    cause: Exception | None = None


def status_of(made: Transfer) -> Status:
    """What a candidate's transfer means for its artifact, if no other candidate is tried."""
    return "ok" if made.is_ok else _STATUSES[made.verdict.kind]


def outcome_of(tried: Sequence[Transfer]) -> Outcome:
    """What became of an artifact whose candidates are all tried.

    If one failed for now, the artifact did. If one was refused, a person may do something about it. Otherwise
    nobody has it.
    """
    if not tried:
        return Outcome("missing", "nothing", error="no resolver gives an address of it")
    order: tuple[Status, ...] = ("ok", "failed", "refused", "missing")
    made = min(reversed(tried), key=lambda one: order.index(status_of(one)))
    if made.is_ok:
        return Outcome("ok", made.verdict.reason, tried, made=made)
    problem = f"{made.verdict.problem} ({made.candidate.url})"
    return Outcome(status_of(made), made.verdict.reason, tried, problem, made.due_at, cause=made.cause)


def row_of(wanted: Row, artifact: Artifact, outcome: Outcome, run_id: str) -> dict[str, Any]:
    """A row of table `files`. Column `attempts` is 1, or 0 if this was no attempt at the artifact.

    Where an attempt failed because of an exception, the row has its `traceback` too (see `BatchReader.read`).

    Args:
        wanted: the artifact's row of table `file_batches`.
        artifact: the same, as the rest of this room sees it.
        outcome: what became of it.
        run_id: the run that tried.
    """
    row = {
        **{name: wanted[name] for name in _OF_MANIFEST},
        "status": outcome.status,
        "reason": outcome.reason,
        "http_status": next((made.status for made in reversed(outcome.tried)), None),
        **_of_bytes(outcome.made),
        "attempts": int(outcome.counts),
        "error": f"{artifact.name}: {outcome.error}" if outcome.error else None,
        "due_at": outcome.due_at,
        "fetched_at": utc_now(),
        "candidates": [_candidate_row(made) for made in outcome.tried],
        "run_id": run_id,
    }
    if outcome.status == "failed" and outcome.counts and outcome.cause:
        row["traceback"] = traceback_of(outcome.cause)
    return row


def failed_file(wanted: Row, error: str, *, attempts: int, now: datetime, run_id: str) -> dict[str, Any]:
    """The row of an artifact that could not be fetched, already settled.

    Args:
        wanted: its row of the batch's manifest (table `file_batches`).
        error: what went wrong; the artifact's name is added.
        attempts: attempts made so far, including this one.
        now: when it failed.
        run_id: the run that tried.
    """
    row = {
        **{name: wanted[name] for name in _OF_MANIFEST},
        "status": "failed",
        "reason": "crash",
        "attempts": attempts,
        "error": f"{wanted['name']}: {error}",
        "fetched_at": now,
        "candidates": [],
        "run_id": run_id,
    }
    return settle_failure(row, now)


def _of_bytes(made: Transfer | None) -> dict[str, Any]:
    if made is None:
        return dict.fromkeys(_OF_BYTES)
    return {
        "sha256": made.sha256,
        "sha1": made.sha1,
        "size_bytes": made.size_bytes,
        "mime": made.mime,
        "stated_mime": stated_type(made.headers),
        "url": made.candidate.url,
        "resolver": made.candidate.resolver,
        "etag": made.headers.get("etag"),
        "last_modified": made.headers.get("last-modified"),
        "fresh_until": made.fresh_until,
        "stored_at": made.stored_at,
    }


def _candidate_row(made: Transfer) -> dict[str, Any]:
    return {
        "resolver": made.candidate.resolver,
        "url": made.candidate.url,
        "verb": made.verb,
        "outcome": status_of(made),
        "reason": made.verdict.reason,
        "http_status": made.status,
        "bytes": made.bytes,
        "resumed_from": made.resumed_from,
        "latency_ms": made.latency_ms,
        "started_at": made.started_at,
        "error": made.verdict.problem,
    }
