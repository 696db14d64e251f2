"""Segments: the parts of a journal in a shared lake, each by one writer, as no object can be appended to.

A segment begins with a unique line, by which it is recognized in a packed journal too; then come lines as in
every journal. Each new line puts the whole segment anew, until it is large or old; then another one begins.
Their names sort by the time of their beginning. Clocks of machines differ, so a segment is named later than
all that are there.
"""

import re
import uuid
from collections.abc import Container, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from holocron_assets.lake.place.clock import SMALLEST_STEP

_SEGMENT = re.compile(r"journal-[0-9T]+-[0-9a-f]+\.jsonl")
_TIME = "%Y%m%dT%H%M%S%f"
_BEGUN = b"begun "


def is_segment(path: Path) -> bool:
    """Whether a file is a journal's segment."""
    return _SEGMENT.fullmatch(path.name) is not None


def segments_of(journal: Path) -> list[Path]:
    """The segments of a journal in this mirror, in the order in which they were begun."""
    return sorted(path for path in journal.parent.glob("journal-*.jsonl") if is_segment(path))


def new_segment(journal: Path, now: datetime) -> tuple[Path, bytes]:
    """The path of a new segment of a journal, and its first line, which is no record: it has no checksum."""
    name = uuid.uuid4().hex
    after = [_begun_at(segment) + SMALLEST_STEP for segment in segments_of(journal)[-1:]]
    at = max([now, *after])
    return journal.with_name(f"journal-{at:{_TIME}}-{name[:8]}.jsonl"), _BEGUN + name.encode() + b"\n"


def _begun_at(segment: Path) -> datetime:
    return datetime.strptime(segment.name.split("-")[1], _TIME).replace(tzinfo=UTC)


def noting_segments(lines: Iterable[bytes], begun: set[bytes]) -> Iterator[bytes]:
    """The lines unchanged; first lines of segments among them are added to `begun`."""
    for line in lines:
        if line.startswith(_BEGUN):
            begun.add(line)
        yield line


def lines_of(segment: Path, packed: Container[bytes]) -> list[bytes]:
    """A segment's lines; none if it is gone, or if its first line is among the packed ones."""
    try:
        lines = segment.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    return [] if lines and lines[0] in packed else lines
