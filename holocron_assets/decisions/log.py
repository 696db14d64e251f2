"""People's decisions: an append-only log. A decision is never changed, only undone by another one."""

import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from operator import itemgetter
from pathlib import Path

from holocron_assets.decisions.append_log import AppendLog, id_at
from holocron_assets.errors import HolocronError
from holocron_assets.lake.declaration.keys import content_hash, title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import DECISIONS

NEEDED: Mapping[str, tuple[str, ...]] = {
    "classify": ("source", "title", "value"),
    "template": ("source", "title", "value"),
    "category": ("source", "title", "value"),
    "merge": ("entity_id", "other_id"),
    "split": ("entity_id", "other_id"),
    "promote": ("entity_id",),
    "suppress": ("entity_id",),
    "accept": ("statement_id",),
    "reject": ("statement_id",),
    "requeue": ("source", "title"),
    "ungroup": ("source", "value"),
    "undo": ("undoes",),
}
"""Every kind of decision, and the columns that name its subject."""

SHARED: Mapping[str, str] = {"template": "Template:", "category": "Category:"}
"""The kinds of decisions about all articles that share something, and how their titles begin.

These are the names of namespaces that every wiki knows, whatever its language.
"""

TYPE_KINDS = ("classify", *SHARED)
"""The kinds of decisions about the types of pages."""

LONGEST: Mapping[str, int] = {"author": 100, "reason": 1000}
"""How many characters a text of a decision may have: both are shown in lists."""

by_time = itemgetter("decided_at", "decision_id")
"""The order of decisions, as a key for sorting."""

_LOG = AppendLog(DECISIONS, "decision_id", "decided_at")
_LENGTH_OF_UNIQUE_PART = 12  # hexadecimal digits: as `id_at` makes them
_HALF_OF_A_PAIR = "Cs"  # Unicode's surrogates; Python reads bytes that are not UTF-8 as these
_NO_PART_OF_A_NAME = frozenset({"Cc", "Zl", "Zp"})  # Unicode's control characters and line breaks
_DECIDES_IN: ContextVar[Path | None] = ContextVar("_DECIDES_IN", default=None)
"""The folder of the lake whose log this thread has locked."""


class DecisionError(HolocronError, ValueError):
    """A decision that cannot be made; the message says why."""


@dataclass(frozen=True)
class Standing:
    """The decisions that count: those that no counting decision undoes.

    Attributes:
        rows: rows of table `decisions` in the order in which they were made, none of kind 'undo'.
    """

    rows: Sequence[Row]

    def of_kind(self, *kinds: str) -> Sequence[Row]:
        """Decisions of some kinds, in the order in which they were made."""
        return [row for row in self.rows if row["kind"] in kinds]

    def mark(self, *kinds: str) -> str:
        """A text that is another only if other decisions of some kinds count."""
        return content_hash("\n".join(row["decision_id"] for row in self.of_kind(*kinds)))

    @cached_property
    def types(self) -> Mapping[int, Row]:
        """The last 'classify' of each title, by title key."""
        return {row["title_key"]: row for row in self.of_kind("classify")}

    @cached_property
    def types_by_page_id(self) -> Mapping[tuple[str, int], Row]:
        """The last 'classify' of each page whose id is known, by source and page id."""
        known = (row for row in self.of_kind("classify") if row["page_id"] is not None)
        return {(row["source"], row["page_id"]): row for row in known}

    @cached_property
    def _types_without_page_id(self) -> Mapping[int, Row]:
        unknown = (row for row in self.of_kind("classify") if row["page_id"] is None)
        return {row["title_key"]: row for row in unknown}

    def type_of(self, source: str, title_key: int, page_id: int | None) -> Row | None:
        """The last 'classify' that concerns a page; see `concerns`."""
        if page_id is None:
            return self.types.get(title_key)
        found = self.types_by_page_id.get((source, page_id)), self._types_without_page_id.get(title_key)
        return max(filter(None, found), key=by_time, default=None)

    @cached_property
    def shared_types(self) -> Mapping[int, Row]:
        """The last 'template' or 'category' of each infobox template and category, by its title key."""
        return {row["title_key"]: row for row in self.of_kind(*SHARED)}

    @cached_property
    def pairs(self) -> Mapping[frozenset[str], Row]:
        """The last 'merge' or 'split' of each pair, by both entity ids."""
        return {frozenset((row["entity_id"], row["other_id"])): row for row in self.of_kind("merge", "split")}

    @cached_property
    def states(self) -> Mapping[str, Row]:
        """The last 'promote' or 'suppress' of each entity, by its id."""
        return {row["entity_id"]: row for row in self.of_kind("promote", "suppress")}

    @cached_property
    def statements(self) -> Mapping[str, Row]:
        """The last 'accept' or 'reject' of each fact or relation, by its id."""
        return {row["statement_id"]: row for row in self.of_kind("accept", "reject")}

    @cached_property
    def requeues(self) -> Mapping[tuple[str, int], Row]:
        """The last 'requeue' of each page, by source and title key."""
        return {(row["source"], row["title_key"]): row for row in self.of_kind("requeue")}


def concerns(decision: Row, page: Row) -> bool:
    """Whether a decision about a page concerns this one: by page id if both have one, else by title.

    A page keeps its id when it moves, and what comes to the old title is another page.

    Args:
        decision: a row of table `decisions`.
        page: a row with `source`, `title_key` and `page_id`.
    """
    if None in (decision["page_id"], page["page_id"]):
        return bool(decision["title_key"] == page["title_key"])
    return bool(decision["source"] == page["source"] and decision["page_id"] == page["page_id"])


def new_decision(  # noqa: PLR0913 - each is a column
    kind: str,
    *,
    author: str,
    reason: str,
    source: str | None = None,
    title: str | None = None,
    page_id: int | None = None,
    entity_id: str | None = None,
    other_id: str | None = None,
    other_title: str | None = None,
    statement_id: str | None = None,
    value: str | None = None,
    undoes: str | None = None,
    now: datetime | None = None,
) -> Row:
    """A decision, ready to be recorded.

    Args:
        kind: one of `NEEDED`.
        author: who decides.
        reason: why.
        source: source of the page that it is about.
        title: that page; for an entity, the page that it was read from; for what articles share, the page of
            the template or category.
        page_id: id of that page, if the decision goes with it when it moves.
        entity_id: the entity that it is about.
        other_id: the other entity; for a merge, the one that it goes into.
        other_title: page that the other entity was read from.
        statement_id: the fact or relation that it is about.
        value: the decided type; the statement in words; or what review items have in common.
        undoes: the decision that is undone.
        now: when it was decided; by default the current time.

    Returns:
        A row of table `decisions`.

    Raises:
        DecisionError: there is no such kind, or author, reason or subject is missing or not readable.
    """
    moment = now or utc_now()
    row = {
        "decision_id": id_at(moment),
        "kind": kind,
        "source": source,
        "title": title,
        "title_key": key_of(source, title),
        "page_id": page_id,
        "entity_id": entity_id,
        "other_id": other_id,
        "other_title": other_title,
        "statement_id": statement_id,
        "value": value,
        "undoes": undoes,
        "author": author,
        "reason": reason,
        "decided_at": moment,
    }
    refuse_malformed(row)
    return row


def decided_now(lake: Lake) -> datetime:
    """The moment of a decision that is made now: later than all others, even if the clock was set back."""
    return _LOG.next_moment(lake)


def key_of(source: str | None, title: str | None) -> int | None:
    """The title key of the page that a decision names, if it names one."""
    return None if source is None or title is None else title_key(source, title)


def refuse_malformed(row: Row) -> None:
    """Raise DecisionError unless a row has the values that its kind needs, and they are readable."""
    kind = row["kind"]
    if kind not in NEEDED:
        raise DecisionError(f"{kind!r} is no kind of decision; the kinds are {', '.join(NEEDED)}")
    refuse_unsaid("a decision", row["author"], row["reason"])
    lacking = [name for name in NEEDED[kind] if not row[name]]
    if lacking:
        raise DecisionError(f"a decision of kind {kind!r} needs {' and '.join(lacking)}")
    if not (row["title"] or "").startswith(start := SHARED.get(kind, "")):
        raise DecisionError(f"a decision of kind {kind!r} is about a title that begins with {start!r}")
    if row["other_id"] is not None and row["other_id"] == row["entity_id"]:
        raise DecisionError(f"a {kind} is of two entities, and both are {row['other_id']}")


def refuse_unsaid(what: str, author: str, reason: str) -> None:
    """Raise DecisionError unless there are an author and a reason that lists can show.

    Args:
        what: what is decided, for the message.
        author: who decides it.
        reason: why.
    """
    if not author.strip():
        raise DecisionError(f"{what} needs an author: say who decides")
    if not reason.strip():
        raise DecisionError(f"{what} needs a reason: say why, for those who come after")
    for name, text in (("author", author), ("reason", reason)):
        if (length := len(text)) > (longest := LONGEST[name]):
            raise DecisionError(
                f"the {name} of {what} has at most {longest:,} characters; this one has {length:,}"
            )
        if any(unicodedata.category(character) == _HALF_OF_A_PAIR for character in text):
            raise DecisionError(f"the {name} of {what} has bytes that are not UTF-8: write it in UTF-8")
    if any(unicodedata.category(character) in _NO_PART_OF_A_NAME for character in author):
        raise DecisionError(f"the author {author!r} has line breaks or control characters in the name")


@contextmanager
def one_step(lake: Lake) -> Iterator[None]:
    """Keep others from deciding, so that what is checked first is still so when the decision is recorded.

    Steps may be nested: the outer one locks the log.

    Args:
        lake: where the log is.
    """
    if _DECIDES_IN.get() == lake.root:
        yield
        return
    with lake.lock("decisions"):
        before = _DECIDES_IN.set(lake.root)
        try:
            yield
        finally:
            _DECIDES_IN.reset(before)


def record(lake: Lake, rows: Sequence[Row]) -> int:
    """Add decisions to the log, all of them or none. Decisions that it holds are not added again.

    Args:
        lake: where the log is.
        rows: rows from `new_decision`, or from another lake's log.

    Returns:
        The number of new ones.

    Raises:
        SchemaError: a row does not fit table `decisions`.
    """
    # Otherwise two imports of the same decisions would both find them missing, and write the same files.
    with one_step(lake):
        return _LOG.append(lake, rows)


def undo(lake: Lake, decision_id: str, *, author: str, reason: str) -> Row:
    """Undo a decision. The decision before it counts again; undoing the undo restores the decision.

    `entities.deciding.decide_undo` first checks what that would restore.

    Args:
        lake: where the log is.
        decision_id: the decision.
        author: who undoes it.
        reason: why.

    Returns:
        The row of table `decisions` that was written.

    Raises:
        DecisionError: there is no such decision, it does not count, or it cannot be undone.
    """
    with one_step(lake):
        made = all_decisions(lake)
        target = next((row for row in made if row["decision_id"] == decision_id), None)
        if target is None:
            raise DecisionError(f"there is no decision {decision_id!r}: `holocron decisions list` shows all")
        refuse_undo_of(target)
        if decision_id in undone(made):
            raise DecisionError(f"decision {decision_id} is undone already")
        row = _undo_of(target, author, reason, decided_now(lake))
        record(lake, [row])
    return row


def undo_answer(lake: Lake, decision_id: str, *, author: str, reason: str) -> Sequence[Row]:
    """Undo a decision, and all others of the same answer that still count.

    `entities.deciding.decide_undo_of_answer` first checks what that would restore.

    Args:
        lake: where the log is.
        decision_id: one of the answer's decisions.
        author: who undoes it.
        reason: why.

    Returns:
        The rows of table `decisions` that were written.

    Raises:
        DecisionError: there is no such decision, none of them counts, or it cannot be undone.
    """
    with one_step(lake):
        made = all_decisions(lake)
        gone, now = undone(made), decided_now(lake)
        targets = [row for row in answered_with(made, decision_id) if row["decision_id"] not in gone]
        if len(targets) <= 1:
            identifier = targets[0]["decision_id"] if targets else decision_id
            return [undo(lake, identifier, author=author, reason=reason)]
        rows = one_answer([_undo_of(row, author, reason, now) for row in targets])
        record(lake, rows)
    return rows


def one_answer(rows: Sequence[Row]) -> Sequence[Row]:
    """New decisions that one answer of a person made, with ids that say so: all have the same start."""
    start = rows[0]["decision_id"]
    numbered = [{**row, "decision_id": f"{start}{place:04x}"} for place, row in enumerate(rows)]
    return numbered if len(rows) > 1 else rows


def answered_with(made: Sequence[Row], decision_id: str) -> list[Row]:
    """The decisions that the same answer made as this one, which is among them."""
    answer = _answer_of(decision_id)
    return [row for row in made if _answer_of(row["decision_id"]) == answer]


def _answer_of(decision_id: str) -> str:
    moment, _, unique = decision_id.partition("-")
    return f"{moment}-{unique[:_LENGTH_OF_UNIQUE_PART]}"


def _undo_of(target: Row, author: str, reason: str, now: datetime) -> Row:
    return new_decision(
        "undo",
        author=author,
        reason=reason,
        source=target["source"],
        title=target["title"],
        page_id=target["page_id"],
        entity_id=target["entity_id"],
        undoes=target["decision_id"],
        now=now,
    )


def refuse_undo_of(target: Row) -> None:
    """Raise DecisionError if a decision has a kind that cannot be undone."""
    if target["kind"] == "requeue":
        raise DecisionError(
            f"decision {target['decision_id']} is a requeue of {target['title']!r}, which cannot be undone: "
            "if its new attempts fail, it is given up again by itself"
        )


def all_decisions(lake: Lake) -> Sequence[Row]:
    """Every decision, in the order in which they were made; read again only when the log has changed.

    Raises:
        DamagedPartitionError: a file of the log cannot be read.
    """
    return _LOG.rows(lake)


def decisions_mark(lake: Lake) -> str:
    """A text that changes with every decision."""
    return _LOG.mark(lake)


def standing(lake: Lake) -> Standing:
    """The decisions that count now; computed again only when the log has changed.

    Raises:
        DamagedPartitionError: a file of the log cannot be read.
    """
    return _standing(lake, decisions_mark(lake))


def standing_mark(lake: Lake, *kinds: str) -> str:
    """A text that changes only when other decisions of some kinds count than before."""
    return standing(lake).mark(*kinds)


def standing_of(made: Sequence[Row]) -> Standing:
    """The decisions that count among all that were made, in the order in which they were made."""
    gone = undone(made)
    return Standing([row for row in made if row["kind"] != "undo" and row["decision_id"] not in gone])


def standing_without(made: Sequence[Row], decision_ids: Collection[str]) -> Standing:
    """The decisions that would count if some of all that were made were undone now."""
    undos = [{"kind": "undo", "decision_id": None, "undoes": name} for name in decision_ids]
    return standing_of([*made, *undos])


def undone(made: Sequence[Row]) -> set[str]:
    """Ids of the decisions that do not count among all that were made, which are given in their order."""
    found: set[str] = set()
    for row in reversed(made):  # newest first: an undo is checked before its target
        if row["kind"] == "undo" and row["decision_id"] not in found:
            found.add(row["undoes"])
    return found


@lru_cache(maxsize=4)
def _standing(lake: Lake, mark: str) -> Standing:
    return standing_of(_LOG.rows_at(lake, mark))
