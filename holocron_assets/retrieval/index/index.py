"""Keeps the search index up to date with the lake, a batch at a time, and opens it.

A pointer names the folders that count. It is replaced last: a process that is killed leaves the old state, or
batches that the next update does again.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from time import time
from typing import Any

import tantivy

from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.durable import replacing
from holocron_assets.lake.files.parquet import MissingPartitionError, read_footer, read_table
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_CHUNKS
from holocron_assets.lake.tables.retrieval import SPACE_PREFIX
from holocron_assets.lake.views.database import connect
from holocron_assets.retrieval.index.contents import (
    READ,
    RELATIONS,
    IndexedPage,
    page_digests,
    pages_of_batch,
)
from holocron_assets.retrieval.index.full_text import (
    IndexWriter,
    UnreadableIndexError,
    index_to_read,
    index_to_write,
)
from holocron_assets.retrieval.index.joined import Batch, Group, groups_of
from holocron_assets.retrieval.index.nearest import SpaceArrays
from holocron_assets.retrieval.index.pointer import Pointer, pointer_file, read_pointer
from holocron_assets.retrieval.index.vectors import write_arrays

_LOCK = "search-index"
_COMMITTED = 20
"""Batches between two commits."""
_KEPT_SECONDS = 600
"""How long folders stay that the pointer does not name any more."""
_DAMAGE = (FileNotFoundError, ValueError, EOFError)
"""Errors by which arrays tell that they are damaged: gone, cut off, empty."""


@dataclass(frozen=True)
class IndexUpdate:
    """What an update did.

    Attributes:
        replaced: batches that were indexed anew, sorted.
        removed: batches that are no longer in the lake.
        batches: all that are indexed.
        passages: in all batches.
        embedded: vectors by space, in all batches.
    """

    replaced: tuple[str, ...]
    removed: tuple[str, ...]
    batches: int
    passages: int
    embedded: Mapping[str, int]


class SearchIndex:
    """The search index of a lake on this machine."""

    def __init__(self, lake: Lake) -> None:
        """Name its folder; nothing is read yet."""
        self._lake = lake
        self._pointer = pointer_file(lake)
        self._folder = self._pointer.parent
        self._spaces = [table for table in lake.derived_tables if table.name.startswith(SPACE_PREFIX)]

    @property
    def wanted_mark(self) -> str:
        """A text that changes with any table that the index is made from."""
        return self._lake.mark((*READ, *self._spaces))

    @property
    def exists(self) -> bool:
        """Whether anything was indexed."""
        return self._pointer.is_file()

    def is_stale(self) -> bool:
        """Whether a table that it is made from changed since the last update, or it is damaged; quick."""
        pointer = self.read_pointer()
        return pointer is None or pointer.mark != self.wanted_mark or not self._is_usable(pointer)

    def update(self, *, anew: bool = False) -> IndexUpdate:
        """Index the batches that changed. Searches go on meanwhile, and see each commit whole.

        Args:
            anew: index all batches in a new folder; searches use the old one until the new one is whole. So
                does an update by other code than the last one's, and one of an index that is damaged.

        Raises:
            Timeout: another process updates it.
            DamagedPartitionError: a file of the lake cannot be read.
        """
        with self._lake.lock(_LOCK, timeout=600):
            mark, pointer = self.wanted_mark, self._begun(anew=anew)
            is_beside = self.exists and not pointer.batches
            with connect(self._lake, relations=RELATIONS, made_once=["current_answers"]) as connection:
                wanted = self._fingerprints(page_digests(connection))
                stale = [
                    batch
                    for batch, fingerprint in sorted(wanted.items())
                    if pointer.batches.get(batch, {}).get("fingerprint") != fingerprint
                ]
                removed = sorted(pointer.batches.keys() - wanted.keys())
                for start in range(0, len(stale) or bool(removed), _COMMITTED):
                    some = stale[start : start + _COMMITTED]
                    pages = {batch: pages_of_batch(self._lake, connection, batch) for batch in some}
                    self._replace(pointer, pages, {batch: wanted[batch] for batch in some}, removed)
                    if not is_beside:
                        self.point_to(pointer)
            pointer.mark = mark
            self.point_to(pointer)
            self._remove_unused(pointer)
        return _report(pointer, stale, removed)

    def searcher(self) -> tantivy.Index:
        """The full-text index as it is now.

        Raises:
            UnreadableIndexError: nothing was indexed yet, or it is damaged.
            OSError: the system cannot read it now.
        """
        return index_to_read(self._folder / self._pointed.text)

    def arrays(self, space: str, dimensions: int) -> SpaceArrays:
        """The vectors of a space as they are now; those of so many dimensions, while it changes them.

        Raises:
            UnreadableIndexError: they are damaged.
            OSError: the system cannot read them now.
        """
        try:
            groups = [one for one in self._whole_groups(self._pointed, space) if one.dimensions == dimensions]
            return SpaceArrays(groups, self._pointed.codes)
        except _DAMAGE as error:
            raise UnreadableIndexError("the vectors are damaged: `holocron run` makes them anew") from error

    @property
    def spaces(self) -> dict[str, int]:
        """The number of vectors of each space."""
        return _vectors(self._pointed)

    @property
    def state(self) -> str:
        """A text that changes with each update."""
        with suppress(FileNotFoundError):
            return str(self._pointer.stat().st_mtime_ns)
        return ""

    @cached_property
    def _pointed(self) -> Pointer:
        pointer = self.read_pointer()
        if pointer is None:
            raise UnreadableIndexError("nothing is indexed yet: `holocron run` makes the search index")
        return pointer

    @cached_property
    def _version(self) -> str:
        return code_version(__name__)

    def read_pointer(self) -> Pointer | None:
        """What is indexed; None if nothing is, or nothing that can be read."""
        return read_pointer(self._lake)

    def _begun(self, *, anew: bool) -> Pointer:
        """The pointer to go on from; a new one, with another folder, if that of before is of no use."""
        pointer = self.read_pointer()
        if pointer is not None and not anew and self._is_usable(pointer):
            return pointer
        names = [path.name for path in self._folder.glob("text-*")] + ([pointer.text] if pointer else [])
        number = 1 + max((int(name.split("-")[1]) for name in names), default=0)
        return Pointer(self._version, f"text-{number}")

    def _is_usable(self, pointer: Pointer) -> bool:
        """Whether this code made what a pointer names, and all of it is there.

        Raises:
            OSError: the system cannot read it now. That is no reason to make it anew.
        """
        if pointer.version != self._version:
            return False
        try:
            index_to_read(self._folder / pointer.text)
            for space in _vectors(pointer):
                SpaceArrays(self._whole_groups(pointer, space), pointer.codes)
        except (UnreadableIndexError, *_DAMAGE):
            return False
        return True

    def _fingerprints(self, digests: Mapping[str, str]) -> dict[str, str]:
        """What each batch that has passages is indexed from, as a hash."""
        found = {}
        for batch in self._lake.partitions(PAGE_CHUNKS):
            footers = [read_footer(self._lake, table, batch) for table in (PAGE_CHUNKS, *self._spaces)]
            ids = [footer.content_id if footer else None for footer in footers]
            found[batch] = content_hash(json.dumps([digests.get(batch), ids]))
        return found

    def _replace(
        self,
        pointer: Pointer,
        pages: Mapping[str, Sequence[IndexedPage]],
        fingerprints: Mapping[str, str],
        removed: list[str],
    ) -> None:
        """Index some batches, and forget those that are gone."""
        entries = {}
        writer = IndexWriter(index_to_write(self._folder / pointer.text))
        for batch, own in pages.items():
            entries[batch] = {
                "fingerprint": fingerprints[batch],
                "passages": writer.replace(batch, own),
                "spaces": self._embedded(pointer, batch, own, fingerprints[batch]),
            }
        for batch in removed:
            writer.replace(batch, [])
            pointer.batches.pop(batch, None)
        writer.commit()
        pointer.batches |= entries
        pointer.mark = ""
        writer.close()

    def _embedded(
        self, pointer: Pointer, batch: str, pages: Sequence[IndexedPage], fingerprint: str
    ) -> dict[str, dict[str, Any]]:
        rows: dict[int, Row] = {page.row["title_key"]: page.row for page in pages}
        current = frozenset(passage["passage_id"] for page in pages for passage in page.passages)
        spaces = {}
        for table in self._spaces:
            if (answers := self._vectors_of(table, batch)) is None:
                continue
            space = table.name.removeprefix(SPACE_PREFIX)
            # The numbers of values, and so the arrays, belong to one folder of the full-text index.
            folder = f"{pointer.text}-vectors/{space}/{batch}-{fingerprint[:12]}"
            written = write_arrays(self._folder / folder, answers, rows, current, pointer.codes)
            if written.vectors:
                spaces[space] = {"folder": folder, **written._asdict()}
        return spaces

    def _vectors_of(self, table: Table, batch: str) -> Any:
        columns = ("title_key", "passage_id", "vector", "model_digest")
        try:
            return read_table(self._lake, table, batch, columns)
        except MissingPartitionError:
            return None

    def point_to(self, pointer: Pointer) -> None:
        """Let searches use what a pointer names. What it no longer names is kept for a while from now on."""
        self._folder.mkdir(parents=True, exist_ok=True)
        before = self.read_pointer()
        for space in _vectors(pointer):
            for group in self._groups(pointer, space):
                group.join()
        with replacing(self._pointer) as aside:
            aside.write_text(json.dumps(vars(pointer)), encoding="utf-8")
        if before:
            self._keep_from_now(before, pointer)

    def _groups(self, pointer: Pointer, space: str) -> list[Group]:
        entries = {name: batch["spaces"].get(space) for name, batch in pointer.batches.items()}
        return groups_of({name: self._batch(entry) for name, entry in entries.items() if entry})

    def _batch(self, entry: Mapping[str, Any]) -> Batch:
        # An earlier version wrote no dimensions. With none, the vectors count as damaged.
        return Batch(self._folder / entry["folder"], entry["vectors"], entry.get("dimensions", 0))

    def _whole_groups(self, pointer: Pointer, space: str) -> list[Group]:
        """The groups of a space; fails as `Batch.check` does."""
        groups = self._groups(pointer, space)
        for batch in chain.from_iterable(group.batches for group in groups):
            batch.check()
        return groups

    def _named(self, pointer: Pointer) -> set[str]:
        """The folders that a pointer names."""
        named = {space["folder"] for batch in pointer.batches.values() for space in batch["spaces"].values()}
        groups = [group for space in _vectors(pointer) for group in self._groups(pointer, space)]
        named |= {str(group.folder.relative_to(self._folder)) for group in groups}
        return named | {pointer.text, f"{pointer.text}-vectors"}

    def _keep_from_now(self, before: Pointer, pointer: Pointer) -> None:
        """Let folders that a pointer does not name any more be as old as this moment: until now it did."""
        for name in self._named(before) - self._named(pointer):
            with suppress(FileNotFoundError):  # what is lost; and without vectors, there is no folder of them
                os.utime(self._folder / name)

    def _remove_unused(self, pointer: Pointer) -> None:
        """Remove folders that the pointer has not named for a while: a search under way may read them."""
        used = self._named(pointer)
        for folder in (*self._folder.glob("text-*-vectors/*/*"), *self._folder.glob("text-*")):
            is_old = folder.exists() and time() - folder.stat().st_mtime > _KEPT_SECONDS
            if is_old and str(folder.relative_to(self._folder)) not in used:
                shutil.rmtree(folder, ignore_errors=True)


def _report(pointer: Pointer, replaced: Sequence[str], removed: Sequence[str]) -> IndexUpdate:
    passages = sum(batch["passages"] for batch in pointer.batches.values())
    return IndexUpdate(tuple(replaced), tuple(removed), len(pointer.batches), passages, _vectors(pointer))


def _vectors(pointer: Pointer) -> dict[str, int]:
    found: dict[str, int] = {}
    for batch in pointer.batches.values():
        for space, entry in batch["spaces"].items():
            found[space] = found.get(space, 0) + entry["vectors"]
    return found
