"""Packing journals: what nothing was appended to for a day becomes an eighth of its size, and loses nothing.

Only journals that are kept for ever: those of interrogations. They hold the one copy of prompts and replies,
and answers that a lost file or an old prompt needs again.

    1. journal.jsonl.zst is written anew beside, with what it held and what journal.jsonl holds;
    2. it is renamed into place: it tells which bytes of journal.jsonl it holds, and readers skip them there;
    3. journal.jsonl is removed. The next append begins another.

In a lake that machines share, segments take the place of journal.jsonl.
"""

import os
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from holocron_assets.lake.files.durable import remove, replacing, sync_folder
from holocron_assets.lake.files.listing import JOURNAL_FILE
from holocron_assets.lake.journals.journal import alone
from holocron_assets.lake.journals.packed import packed_lines, packed_part, taken_of, write_packed
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.shared.segments import lines_of, noting_segments, segments_of
from holocron_assets.lake.tables import LLM_ATTEMPTS, LLM_RUNS

KEPT_FOR_EVER = (LLM_RUNS, LLM_ATTEMPTS)
"""Tables whose journals stay when their partitions are written."""

_IDLE = timedelta(days=1)
_SLACK = timedelta(days=1)
_WORTH_BYTES = 4096
"""On most disks a smaller file takes no less room."""


@dataclass
class JournalsPacked:
    """What was packed.

    Attributes:
        journals: how many journals.
        bytes_freed: by how much the lake is smaller.
    """

    journals: int = 0
    bytes_freed: int = 0


def journals_are_due(lake: Lake, *, now: datetime) -> bool:
    """Whether some journal is a day older than it must be: they are packed once a day, not one by one."""
    return next(_idle_journals(lake, now - _SLACK), None) is not None


def pack_journals(lake: Lake, *, now: datetime) -> JournalsPacked:
    """Pack the journals that nothing was appended to for a day. May be killed, and run beside everything.

    Args:
        lake: whose.
        now: the moment.

    Raises:
        DamagedPartitionError: the packed part of one cannot be read. Nothing was changed about that one.
    """
    done = JournalsPacked()
    with lake.lock("pack-journals"):
        for journal in _idle_journals(lake, now):
            freed = _pack(journal, now)
            done.journals += freed is not None
            done.bytes_freed += freed or 0
    return done


def _idle_journals(lake: Lake, now: datetime) -> Iterator[Path]:
    for table in KEPT_FOR_EVER:
        folder = lake.folder(table)
        for name in sorted(os.listdir(folder)) if folder.is_dir() else ():  # noqa: PTH208 - there may be 20,000
            journal = folder / name / JOURNAL_FILE
            parts = segments_of(journal) or ([journal] if journal.is_file() else [])
            if parts and _is_idle([part.stat() for part in parts], now):
                yield journal


def _is_idle(parts: Sequence[os.stat_result], now: datetime) -> bool:
    size, newest = sum(part.st_size for part in parts), max(part.st_mtime for part in parts)
    return size >= _WORTH_BYTES and newest < (now - _IDLE).timestamp()


def _pack(journal: Path, now: datetime) -> int | None:
    """Pack a journal; give how many bytes that freed, or None if there was nothing to pack any more."""
    return _pack_segments(journal) if segments_of(journal) else _pack_file(journal, now)


def _pack_segments(journal: Path) -> int:
    """Pack the segments of a journal. Their first lines tell readers which of them are packed.

    Whoever appends has begun another long ago, and holds on to none of these.
    """
    packed = packed_part(journal)
    parts = [part for part in (journal, *segments_of(journal)) if part.exists()]
    before = sum(part.stat().st_size for part in (packed, *parts) if part.exists())
    with packed_lines(journal) as (taken, older), replacing(packed) as aside:
        begun: set[bytes] = set()
        write_packed(aside, taken, noting_segments(older, begun), _lines(parts, begun))
    remove(*parts)
    return before - packed.stat().st_size


def _lines(parts: Sequence[Path], begun: Container[bytes]) -> Iterator[bytes]:
    for part in parts:
        yield from lines_of(part, begun)


def _pack_file(journal: Path, now: datetime) -> int | None:
    packed = packed_part(journal)
    before = packed.stat().st_size if packed.exists() else 0
    try:
        opened = journal.open("rb")
    except FileNotFoundError:
        return None  # another process was quicker
    with opened as own, alone(own):
        status = os.fstat(own.fileno())
        if not status.st_nlink or not _is_idle([status], now):
            return None
        with packed_lines(journal) as (taken_before, older):
            # What a killed packing took is not taken again.
            begin = taken_before.skip_in(own)
            if begin < status.st_size:
                own.seek(0)
                taken = taken_of(own, status.st_size)
                own.seek(begin)
                with replacing(packed) as aside:
                    write_packed(aside, taken, older, own)
        journal.unlink()
        sync_folder(journal.parent)
    return before + status.st_size - packed.stat().st_size
