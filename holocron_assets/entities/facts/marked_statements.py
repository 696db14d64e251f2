"""The sheet of marked statements: facts and relations that people read on pages, and marked right or wrong.

It is a folder of CSV files with a row a statement. Its marks judge what models say; nothing is made from it.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from holocron_assets.entities.facts.checks import plain_key
from holocron_assets.entities.facts.vocabulary import Kind, load_vocabulary
from holocron_assets.errors import PermanentError

Mark = Literal["right", "wrong", "unclear"]

COLUMNS = ("page", "kind", "subject", "key", "other", "first_reader", "second_reader", "mark")
"""The columns that a file must have; it may have others, which are not read."""

_NEEDED = ("page", "subject", "key", "other")


class MarkedStatementsError(PermanentError):
    """A file of the sheet cannot be used; the message names file, line and reason."""


@dataclass(frozen=True)
class Marked:
    """A statement with its mark.

    Attributes:
        page: title of the page that it was read on.
        kind: 'fact' or 'relation'.
        subject: what it is about, by name.
        key: a key of the vocabulary.
        other: the fact's value, or the other end's name.
        mark: what both readers settled on.
    """

    page: str
    kind: Kind
    subject: str
    key: str
    other: str
    mark: Mark


def read_marked(folder: Path) -> list[Marked]:
    """Read every file of the sheet, in the order of their names; none where there is no folder.

    Args:
        folder: holds files `*.csv` in UTF-8, whose first line names the columns.

    Raises:
        MarkedStatementsError: a file cannot be read, or a row of it says what cannot be.
    """
    return [row for file in sorted(folder.glob("*.csv")) for row in _rows(file)]


def _rows(file: Path) -> Iterator[Marked]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.DictReader(opened, strict=True)
            if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
                raise MarkedStatementsError(
                    f"{file}: lacks {', '.join(missing)}: its first line names {', '.join(COLUMNS)}"
                )
            for row in reader:
                yield _marked(row, f"{file}: line {reader.line_num}")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise MarkedStatementsError(f"{file}: is no readable CSV file in UTF-8: {error}") from error


def _marked(row: Mapping[str, str | None], place: str) -> Marked:
    said = {name: (row[name] or "").strip() for name in COLUMNS}
    if empty := [name for name in _NEEDED if not said[name]]:
        raise MarkedStatementsError(f"{place}: {', '.join(empty)}: is empty")
    kind = next((one for one in get_args(Kind) if one == said["kind"]), None)
    if kind is None:
        raise MarkedStatementsError(f"{place}: kind: is {said['kind']!r}; it must be fact or relation")
    mark = next((one for one in get_args(Mark) if one == said["mark"]), None)
    if mark is None:
        marks = ", ".join(get_args(Mark))
        raise MarkedStatementsError(f"{place}: mark: is {said['mark']!r}; it must be one of {marks}")
    key = load_vocabulary().key_of(kind, plain_key(said["key"]))
    if key is None:
        raise MarkedStatementsError(f"{place}: key: {said['key']!r} is no key of a {kind} in the vocabulary")
    return Marked(said["page"], kind, said["subject"], key, said["other"], mark)
