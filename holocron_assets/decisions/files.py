"""Decisions as a file that git can hold: a line of JSON for each, the oldest first."""

import json
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from holocron_assets.decisions.log import (
    TYPE_KINDS,
    DecisionError,
    all_decisions,
    key_of,
    record,
    refuse_malformed,
    refuse_undo_of,
)
from holocron_assets.lake.declaration.schema import Row, SchemaError
from holocron_assets.lake.files.durable import replacing
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import DECISIONS

_KEY = "title_key"
_WRITTEN = tuple(column.name for column in DECISIONS.columns if column.name != _KEY)
"""The values that a line may have. The title key follows from source and title."""

_ID = re.compile(r"[0-9]{8}T[0-9]{12}-[0-9a-f]{8,32}")

_LONGEST_TEXT = 1_000

_OF_ANY_TEXT = frozenset({"accept", "reject", "ungroup"})
"""Kinds whose value may be any text of a page or a model: decisions of earlier versions hold it unchanged."""

_FAST = timedelta(minutes=10)
"""How far another machine's clock may be ahead. A later date would outrank all decisions until then."""


class Imported(NamedTuple):
    """The result of an import.

    Attributes:
        read: number of decisions in the file.
        added: number of those that the lake did not have.
    """

    read: int
    added: int


def export_decisions(lake: Lake, file: Path) -> int:
    """Write every decision to a file. The same decisions give the same bytes, and a new one adds a line.

    Args:
        lake: the lake with the decisions.
        file: the file, which is replaced in one step.

    Returns:
        The number of decisions.

    Raises:
        FileNotFoundError: the file's folder does not exist.
    """
    if not file.absolute().parent.is_dir():
        raise FileNotFoundError(f"there is no folder {file.absolute().parent}: make it first")
    rows = all_decisions(lake)
    with replacing(file.absolute()) as aside:
        aside.write_bytes(b"".join(map(_line, rows)))
    return len(rows)


def import_decisions(lake: Lake, file: Path, *, types: Collection[str]) -> Imported:
    """Add the decisions of a file to the lake's: all of them, or none.

    Args:
        lake: where they go. Decisions that it already has do not change.
        file: a file of `export_decisions`, or several such files joined. Blank lines do not count.
        types: the types that a page may have.

    Raises:
        DecisionError: a line is no decision, has an unknown page type or a future time, contradicts another
            with the same id, or undoes what cannot be undone. The message names the file and the line.
            Nothing was written.
        OSError: the file cannot be read.
    """
    known = {row["decision_id"]: row for row in all_decisions(lake)}
    read: dict[str, Row] = {}
    line_of: dict[str, int] = {}
    for number, line in enumerate(file.read_bytes().splitlines(), start=1):
        if line.strip():
            with _line_named(file, number):
                row = _row(line)
                _refuse_other(row, read.get(row["decision_id"]) or known.get(row["decision_id"]))
                if row["decision_id"] not in known:
                    _refuse_strange(row, types)
            read[row["decision_id"]] = row
            line_of.setdefault(row["decision_id"], number)
    together = known | read
    for identifier, row in read.items():
        with _line_named(file, line_of[identifier]):
            _refuse_wrong_undo(row, together)
    return Imported(len(read), record(lake, list(read.values())))


def _line(row: Row) -> bytes:
    values = {name: row[name] for name in _WRITTEN if row[name] is not None}
    values["decided_at"] = row["decided_at"].astimezone(UTC).isoformat(timespec="microseconds")
    return json.dumps(values, ensure_ascii=False).encode() + b"\n"


def _row(line: bytes) -> Row:
    """The row of table `decisions` in a line."""
    try:
        values = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise DecisionError(f"it is no JSON: {error}") from error
    if not isinstance(values, dict):
        raise DecisionError("it is no JSON object")
    if unknown := sorted(values.keys() - set(_WRITTEN)):
        raise DecisionError(f"a decision has no {', '.join(map(repr, unknown))}")
    row = {**dict.fromkeys(_WRITTEN), **values, "decided_at": _time(values.get("decided_at"))}
    try:
        DECISIONS.to_arrow([row], "of a file")
    except SchemaError as error:
        raise DecisionError(str(error)) from error
    if not _ID.fullmatch(row["decision_id"]):
        raise DecisionError(f"{row['decision_id']!r} is no id of a decision")
    refuse_malformed(row)
    return {**row, _KEY: key_of(row["source"], row["title"])}


def _time(text: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        moment_here = moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError) as error:
        raise DecisionError(f"decided_at is no time: {text!r}") from error
    if moment.tzinfo is None:
        raise DecisionError(f"decided_at has no time zone: {text!r}")
    return moment_here


def _refuse_other(row: Row, same: Row | None) -> None:
    if same is not None and same != row:
        differing = sorted(name for name in row if row[name] != same[name])
        raise DecisionError(
            f"decision {row['decision_id']} is known with another {' and '.join(differing)}: decisions are "
            "never changed, only undone"
        )


def _refuse_strange(row: Row, types: Collection[str]) -> None:
    """Refuse decisions that no command here would write: an unknown type, a time that has not come.

    Titles may be those of any wiki. Only titles that no wiki has are refused: with control characters, or too
    long. A value that quotes a page is not refused, since one such line would keep a whole file out.
    """
    for name in ("title", "other_title", *(() if row["kind"] in _OF_ANY_TEXT else ("value",))):
        text = row[name] or ""
        if len(text) > _LONGEST_TEXT or any(unicodedata.category(character) == "Cc" for character in text):
            raise DecisionError(
                f"its {name} {text[:40]!r} is longer than {_LONGEST_TEXT:,} characters, or holds control "
                "characters"
            )
    if row["kind"] in TYPE_KINDS and row["value"] not in types:
        raise DecisionError(f"{row['value']!r} is no type of page; the types are {', '.join(types)}")
    if row["decided_at"] > utc_now() + _FAST:
        raise DecisionError(
            f"it was decided at {row['decided_at']:%Y-%m-%d %H:%M} UTC, which has not come yet: correct "
            "decided_at, or the clock of this machine"
        )


def _refuse_wrong_undo(row: Row, known: Mapping[str, Row]) -> None:
    if row["kind"] != "undo":
        return
    target = known.get(row["undoes"])
    if target is None:
        raise DecisionError(f"it undoes {row['undoes']}, which neither the file nor the lake has")
    if target["decided_at"] >= row["decided_at"]:
        raise DecisionError(f"it undoes {row['undoes']}, which was decided later")
    refuse_undo_of(target)


@contextmanager
def _line_named(file: Path, number: int) -> Iterator[None]:
    """Name the line of the file in the error of a refused decision."""
    try:
        yield
    except DecisionError as error:
        raise DecisionError(f"{file}, line {number}: {error}. Nothing was imported.") from error
