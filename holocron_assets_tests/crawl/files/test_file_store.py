"""The store of objects: whole or absent, verified, and rid of what no row names."""

import hashlib
import os
from datetime import timedelta
from pathlib import Path
from time import time

import pytest

from holocron_assets.crawl.files.transfers.parts import Part
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.files.verifying import faulty_files
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILE_BATCHES, FILE_USES, FILES
from holocron_assets.operations.backups.copying import Copier
from holocron_assets.operations.backups.lake_copy import copy_lake

WEEK = timedelta(days=7)


def stored(store: FileStore, content: bytes, *, age: timedelta = timedelta()) -> str:
    """Put an object into the store, and give its name."""
    with Part(store, f"http://example.org/{len(content)}") as part:
        part.start_over()
        part.write(content)
        sha256 = part.sha256
        path = part.publish()
    os.utime(path, (time() - age.total_seconds(),) * 2)
    return sha256


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(Lake(tmp_path))


def test_an_object_is_found_by_its_content(store: FileStore) -> None:
    sha256 = stored(store, b"bytes")
    assert sha256 == hashlib.sha256(b"bytes").hexdigest()
    assert store.has(sha256)
    assert store.bring(sha256).read_bytes() == b"bytes"


def test_a_damaged_object_is_found_and_mended_by_the_next_fetch(store: FileStore) -> None:
    sha256 = stored(store, b"bytes")
    store.path(sha256).write_bytes(b"other")
    (fault,) = faulty_files([store.path(sha256)])
    assert fault.file == store.path(sha256)
    assert str(fault).startswith(f"object {sha256}: ")
    stored(store, b"bytes")
    assert store.bring(sha256).read_bytes() == b"bytes"


def test_what_is_not_there_is_named(store: FileStore) -> None:
    nobody = "0" * 64
    assert not store.has(nobody)
    with pytest.raises(FileNotFoundError, match="fetch its artifact again"):
        store.bring(nobody)


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "A" * 64, "0" * 63, "0" * 64 + "/.."])
def test_only_a_sha256_is_a_name(name: str, store: FileStore) -> None:
    with pytest.raises(ValueError, match="is no SHA-256"):
        store.path(name)
    assert not store.has(name)


def test_what_no_row_names_is_removed_after_a_week(store: FileStore) -> None:
    named = stored(store, b"named", age=2 * WEEK)
    old = stored(store, b"unnamed", age=2 * WEEK)
    young = stored(store, b"a young one")
    assert store.unnamed([named], WEEK) == [store.path(old)]
    assert store.remove_unnamed([named], WEEK) == len(b"unnamed")
    assert [store.has(one) for one in (named, old, young)] == [True, False, True]


def test_parts_that_nobody_finished_are_removed_too(store: FileStore) -> None:
    with Part(store, "http://example.org/") as part:
        part.start_over("http://example.org/", '"v1"', 100)
        part.write(b"half")
    left = sorted(store.parts.iterdir())
    assert len(left) == 2
    for path in left:
        os.utime(path, (0, 0))
    assert store.remove_unnamed([], WEEK) > 4
    assert list(store.parts.iterdir()) == []


def test_an_object_that_is_found_again_is_young_again(store: FileStore) -> None:
    sha256 = stored(store, b"bytes", age=2 * WEEK)
    store.keep_young(sha256)
    assert store.unnamed([], WEEK) == []


def test_the_store_is_no_table_of_the_lake(store: FileStore, tmp_path: Path) -> None:
    stored(store, b"bytes")
    lake = Lake(tmp_path)
    assert (lake.files(), lake.packed_journals()) == ([], [])
    assert [lake.partitions(table) for table in lake.tables if table.layer == "files"] == [[], [], [], []]


def test_one_process_at_a_time_has_the_part_of_an_address(store: FileStore) -> None:
    url = "http://example.org/"
    with Part(store, url) as first, Part(store, url) as second:
        assert first.path != second.path
        for part, content in ((first, b"one"), (second, b"two")):
            part.start_over(url, '"v1"', 10)
            part.write(content)
    with Part(store, url) as third:
        assert (third.path, third.size) == (first.path, 3)
        assert third.sha256 == hashlib.sha256(b"one").hexdigest()


def test_a_backup_copies_objects_after_the_rows_that_name_them(store: FileStore, tmp_path: Path) -> None:
    copied: list[str] = []

    class Noting(Copier):
        def copy(self, file: Path) -> None:
            copied.append(file.relative_to(self.start).parts[1])
            super().copy(file)

    stored(store, b"bytes")
    with Part(store, "http://example.org/") as part:
        part.start_over("http://example.org/", '"v1"', 100)
        part.write(b"half")
    for table in (FILE_BATCHES, FILES, FILE_USES):
        write_partition(Lake(tmp_path), table, "files-000001", [])
    copy_lake(Lake(tmp_path).layers, Noting(Lake(tmp_path).layers, tmp_path / "backup"))
    assert copied == ["file_uses", "files", "file_batches", "sha256"]
