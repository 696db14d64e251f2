"""The two journals of an interrogation's partition: its items' states, and the requests and replies.

The first is short and read often; nothing else holds the state of an item. The second holds prompts and
replies, for `holocron artifacts`, and the rows of `llm_attempts`.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.interrogations.answer_schema import enforceable
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.results.item_states import SUMMED, ItemState
from holocron_assets.derive.results.kept_answers import scope_of
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_ATTEMPTS, LLM_RUNS

if TYPE_CHECKING:
    from holocron_assets.derive.items.item import Item

Record = dict[str, Any]
"""A line of a journal of states."""


def journal_path(lake: Lake, interrogation: Interrogation, partition: str) -> Path:
    """The journal of the states of the items in an interrogation's partition."""
    return lake.journal(LLM_RUNS, scope_of(interrogation.name, partition))


def exchanges_path(lake: Lake, scope: str) -> Path:
    """The journal of requests and replies about the items of a scope."""
    return lake.journal(LLM_ATTEMPTS, scope)


class StateJournal:
    """The states of items, by result key."""

    def __init__(self, path: Path) -> None:
        """Open the journal at `path` without reading it."""
        self._journal = Journal(path)

    def states(self) -> dict[str, ItemState]:
        """The state of each result key that the journal knows."""
        found: dict[str, ItemState] = {}
        for record in self._journal.records():
            key = record["key"]
            found[key] = found.get(key, ItemState(record["item"])).after(record)
        return found

    def add(self, *records: Record) -> None:
        """Add records; returns when all are on disk."""
        self._journal.append(*records)

    def close(self) -> None:
        """Close the file."""
        self._journal.close()


def begun(item_id: str, key: str, *, is_alone: bool = True) -> Record:
    """The record that an attempt begins, alone or together with others; see `ItemState.is_together`."""
    return _record("begun" if is_alone else "begun together", item_id, key)


def abandoned(item_id: str, key: str) -> Record:
    """The record that this process broke an attempt off, so that it does not count."""
    return _record("abandoned", item_id, key)


def ended(item_id: str, key: str, outcome: Outcome, *, unsupported: int) -> Record:
    """The record of the outcome of an attempt.

    Args:
        item_id: the item's.
        key: its result key.
        outcome: what came of it.
        unsupported: rows of its answer whose quotes are not in the page's text.
    """
    costs = {name: sum(call[name] for call in outcome.calls) for name in SUMMED}
    return _record(
        "ended",
        item_id,
        key,
        counts=outcome.counts,  # these two follow the key: `answers_elsewhere` searches for them
        status=outcome.status,
        answer=outcome.answer,
        parse_strategy=outcome.parse_strategy,
        unsupported=unsupported,
        error=outcome.error,
        due_at=_iso(outcome.due_at),
        run_id=outcome.calls[-1]["run_id"] if outcome.calls else outcome.run_id,
        costs={"calls": len(outcome.calls), **costs},
    )


def _record(what: str, item_id: str, key: str, **more: Any) -> Record:
    return {"what": what, "item": item_id, "key": key, **more, "at": utc_now().isoformat()}


class ExchangeJournal:
    """Requests and replies, attempt by attempt; the part that all requests share is written once."""

    def __init__(self, path: Path) -> None:
        """Open the journal at `path` without reading it."""
        self._journal = Journal(path)
        self._shared: set[str] | None = None

    def records(self) -> Iterator[dict[str, Any]]:
        """Every record, in order."""
        return self._journal.records()

    def calls(self) -> Iterator[dict[str, Any]]:
        """Every call as a row of `llm_attempts`, in order."""
        for record in self.records():
            for call in record.get("calls", ()):
                yield LLM_ATTEMPTS.revive(call["row"])

    def add(self, item: "Item", outcome: Outcome) -> None:
        """Record the calls of an attempt; returns when they are on disk."""
        if not outcome.exchanges:
            return
        calls = [
            {
                "row": {**row, "started_at": row["started_at"].isoformat()},
                "sent": _without_shared(exchange.request.body),
                "timeout_seconds": exchange.request.timeout_seconds,
                "reply": exchange.reply.text if exchange.reply else None,
                "last_response": dict(exchange.reply.last) if exchange.reply else None,
            }
            for row, exchange in zip(outcome.calls, outcome.exchanges, strict=True)
        ]
        self._journal.append(
            {
                "item": item.item_id,
                "subject": item.subject,
                "shared": self._share(item),
                "evidence": (outcome.bundle or item.bundle).to_json(),
                "calls": calls,
                "answer": outcome.answer,
                "status": outcome.status,
                "error": outcome.error,
                "at": utc_now().isoformat(),
            }
        )

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def _share(self, item: "Item") -> str:
        """The name of the part that all requests share, which is written once."""
        shared = content_hash(item.system)
        if self._shared is None:
            self._shared = {record["name"] for record in self.records() if "name" in record}
        if shared not in self._shared:
            schema = enforceable(item.interrogation.answer_schema)
            self._journal.append({"name": shared, "system": item.system, "schema": schema})
            self._shared.add(shared)
        return shared


def sent_whole(call: Mapping[str, Any], shared: Mapping[str, Any]) -> Record:
    """The body of a call's request, as it was sent.

    Args:
        call: the call, as `ExchangeJournal` records it.
        shared: the record of the part that all requests share.
    """
    # Journals of earlier versions lack `sent`: these are what was sent, but not how the answer was to come.
    sent = call.get("sent") or {
        "model": call["row"]["model"],
        "messages": call["messages"],
        "options": call["options"],
    }
    if "messages" not in sent:  # passages to embed
        return dict(sent)
    system = {"role": "system", "content": shared["system"]}
    return {**sent, "messages": [system, *sent["messages"]], "format": shared["schema"]}


def _without_shared(body: Record) -> Record:
    """A request's body without the system message and the schema, which all requests share."""
    return {**body, "messages": body["messages"][1:], "format": None} if "messages" in body else body


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
