"""Bytes that no row names are removed after a week, and no others."""

import os
import shutil
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

from file_rows import list_source, put_list, put_outcomes

from holocron_assets.crawl.files.collecting import collect, collection_is_due
from holocron_assets.crawl.files.outcomes import failed_file
from holocron_assets.crawl.frontier.file_batches import cut_file_batches, file_manifest
from holocron_assets.lake.files.damage import DamagedPartitionError
from holocron_assets.lake.files.quarantine import set_aside
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILES


def stored(lake: Lake, content: bytes, *, days_old: int) -> str:
    """Put bytes into the store, as old as is wanted."""
    name = sha256(content).hexdigest()
    path = FileStore(lake).path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    then = (utc_now() - timedelta(days=days_old)).timestamp()
    os.utime(path, (then, then))
    return name


def test_only_old_bytes_go_that_no_row_and_no_journal_names(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    named, journaled = stored(lake, b"named", days_old=30), stored(lake, b"under way", days_old=30)
    young, old = stored(lake, b"young", days_old=6), stored(lake, b"old", days_old=8)
    put_list(lake, "https://a.example/a")
    cut_file_batches(lake, list_source(), now=utc_now())
    put_outcomes(lake, "files-000001", at=utc_now(), sha256=named)
    with Journal(lake.journal(FILES, "files-000002")) as journal:
        journal.append({"rows": [{"artifact_key": 1, "sha256": journaled}]})
    assert collection_is_due(lake, utc_now())
    done = collect(lake, utc_now())
    assert (done.files, done.freed_bytes) == (1, len(b"old"))
    assert [FileStore(lake).has(name) for name in (named, journaled, young, old)] == [True, True, True, False]


def test_nothing_goes_while_a_damaged_partition_is_set_aside(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    named, old = stored(lake, b"named", days_old=30), stored(lake, b"old", days_old=8)
    put_list(lake, "https://a.example/a")
    cut_file_batches(lake, list_source(), now=utc_now())
    put_outcomes(lake, "files-000001", at=utc_now(), sha256=named)
    file = lake.file(FILES, "files-000001")
    file.write_bytes(file.read_bytes()[:-9])
    aside = set_aside(lake, DamagedPartitionError(file, "a bit flipped"))
    assert aside is not None
    assert collect(lake, utc_now()) == (0, 0)
    assert FileStore(lake).has(named)
    assert FileStore(lake).has(old)
    aside.kept.with_name("note.json").write_bytes(b"")
    assert collect(lake, utc_now()) == (0, 0), "nobody knows of which table it is"
    shutil.rmtree(aside.kept.parent)  # a person has seen to it
    assert collect(lake, utc_now()).files == 2


def test_a_batch_under_way_with_an_artifact_that_was_given_up_is_no_obstacle(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    stored(lake, b"old", days_old=8)
    put_list(lake, "https://a.example/a")
    (batch,) = cut_file_batches(lake, list_source(), now=utc_now())
    (wanted,) = file_manifest(lake, batch)
    given_up = failed_file(wanted, "the process was killed", attempts=4, now=utc_now(), run_id="run")
    with Journal(lake.journal(FILES, batch)) as journal:
        journal.append({"ended": [wanted["artifact_key"]], "rows": [given_up]})
    assert collect(lake, utc_now()).files == 1


def test_it_is_due_once_a_week_and_never_without_a_store(tmp_path: Path) -> None:
    lake, now = Lake(tmp_path), utc_now()
    assert not collection_is_due(lake, now)
    stored(lake, b"some", days_old=0)
    collect(lake, now)
    assert not collection_is_due(lake, now + timedelta(days=6))
    assert collection_is_due(lake, now + timedelta(days=7))
