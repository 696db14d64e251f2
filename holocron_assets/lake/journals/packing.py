"""Packing journals: a journal without a new line for a day shrinks to an eighth, and loses nothing.

Only journals that are kept for ever are packed: those of interrogations. They hold the only copy of prompts
and replies, and answers that are needed again after a file is lost or for an old prompt.

    1. journal.jsonl.zst is written anew under another name, with its old lines and those of journal.jsonl;
    2. it is renamed into place: it says which bytes of journal.jsonl it holds, and readers skip them there;
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
from holocron_assets.lake.journals.packed import (
    mark_as_packed,
    packed_lines,
    packed_part,
    taken_of,
    write_packed,
)
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
    """The result of packing.

    Attributes:
        journals: number of journals that were packed.
        bytes_freed: number of bytes by which the lake is smaller.
    """

    journals: int = 0
    bytes_freed: int = 0


def journals_are_due(lake: Lake, *, now: datetime) -> bool:
    """Whether a journal could have been packed for a day: they are packed once a day, not one by one."""
    return next(_idle_journals(lake, now - _SLACK), None) is not None


def pack_journals(lake: Lake, *, now: datetime) -> JournalsPacked:
    """Pack the journals without a new line for a day. It may be killed, and run while others work.

    Args:
        lake: the lake.
        now: the current time.

    Raises:
        DamagedPartitionError: the packed part of a journal cannot be read. That journal is not changed.
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
    """Pack a journal; return the number of bytes that it freed, or None if there was nothing to pack."""
    return _pack_segments(journal) if segments_of(journal) else _pack_file(journal, now)


def _pack_segments(journal: Path) -> int:
    """Pack the segments of a journal. Their first lines show readers which of them are packed.

    Every writer has begun another segment long ago, and does not use these any more.
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
        return None  # another process has packed it
    with opened as own, alone(own):
        status = os.fstat(own.fileno())
        if not status.st_nlink or not _is_idle([status], now):
            return None
        with packed_lines(journal) as (taken_before, older):
            # Lines that a killed packing took are not taken again.
            begin = taken_before.skip_in(own)
            if begin < status.st_size:
                own.seek(0)
                taken = taken_of(own, status.st_size)
                own.seek(begin)
                with replacing(packed) as aside:
                    write_packed(aside, taken, older, own)
        mark_as_packed(own)
        journal.unlink()
        sync_folder(journal.parent)
    return before + status.st_size - packed.stat().st_size
