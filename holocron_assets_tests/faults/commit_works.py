"""Works that may be killed at any commit point and done again: the domain rooms, without Dagster.

The result of a work is given without what a restart may change: times, runs and the number of attempts.
"""

import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import time
from typing import Any, NamedTuple

from asked import DIGEST, GOOD, interrogation
from crawl_rows import outcome, put_manifest
from fake_ollama import SMALL
from sample_holocron import SAMPLE_EXPORT, Holocron, derive, fetch
from tiny_wiki import copy_of_export
from wiki_lake import BATCH, a_wiki

from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.frontier.batches import batches_of, cut_batches, unfinished_batches
from holocron_assets.crawl.sources.seeds import seeds_are_stale, store_seeds, store_site
from holocron_assets.crawl.waiting import Group
from holocron_assets.decisions.log import all_decisions, new_decision, record
from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.results.partition_work import PartitionWork, journal_path
from holocron_assets.exports.content_hash import hash_lake
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.journals.packing import pack_journals
from holocron_assets.lake.packs.compaction import FEWEST, compact
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import BATCH_PAGES, PAGES, SITES

KINDS = interrogation(rows={})
_LOG = "asked.log"


class Work(NamedTuple):
    """A work in a folder.

    Attributes:
        prepare: makes what it starts from.
        work: does what is left of it.
        result: what it came to, as text.
    """

    prepare: Callable[[Path], None]
    work: Callable[[Path], None]
    result: Callable[[Path], str]


class _Reader:
    """Reads pages two at a time, one such group after the other, and logs each page that it is asked for."""

    group_sizes: Sequence[int] = (2, 1)
    groups_at_once = 1

    def __init__(self, log: Path) -> None:
        self._log = log

    def reads_others_than(self, _: Group) -> bool:
        return False

    def give_up(self) -> None:
        pass

    def read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
        with self._log.open("a") as log:
            log.writelines(f"{page['title']}\n" for page in group)
        now = utc_now()
        return [
            outcome(
                page["title"], batch=page["batch"], position=page["position"], fetched_at=now, run_id=run_id
            )
            for page in group
        ]


def _fetch(folder: Path) -> None:
    if unfinished_batches(Lake(folder), "wiki"):
        fetch_batch(Lake(folder), BATCH, _Reader(folder / _LOG), "run")


def _fetched(folder: Path) -> str:
    rows = read_partition(Lake(folder), PAGES, BATCH)
    most = max((folder / _LOG).read_text().splitlines().count(row["title"]) for row in rows)
    # A page that was being read is read again, and no other; a page that was read twice is one row.
    assert most <= 2, "a page was read three times"
    return json.dumps([(row["title"], row["status"], row["position"]) for row in rows])


def _answer(folder: Path) -> None:
    lake = Lake(folder)
    work = PartitionWork(lake, KINDS, BATCH, model=SMALL, digest=DIGEST)
    for item in work.ready(datetime.now(UTC) + timedelta(minutes=1)):
        work.start(item)
        with (folder / _LOG).open("a") as log:
            log.write(f"{item.subject}\n")
        work.record(item, Outcome("ok", GOOD))
    work.publish("run")


def _answered(folder: Path) -> str:
    asked = (folder / _LOG).read_text().splitlines()
    assert len(asked) <= len(set(asked)) + 1, "more was asked again than what was under way"
    rows = read_partition(Lake(folder), KINDS.table, BATCH)
    return json.dumps(sorted((row["title"], row["kind"]) for row in rows))


def _decide(folder: Path) -> None:
    for number in range(3):
        moment = datetime(2026, 1, 1 + number, tzinfo=UTC)
        row = new_decision("promote", author="Ann", reason="it is one", entity_id=f"e-{number}", now=moment)
        record(Lake(folder), [{**row, "decision_id": f"decision-{number}"}])


def _decided(folder: Path) -> str:
    return json.dumps([(row["decision_id"], row["entity_id"]) for row in all_decisions(Lake(folder))])


def _many_batches(folder: Path) -> None:
    lake, then = Lake(folder), time() - timedelta(days=3).total_seconds()
    for number in range(1, FEWEST + 1):
        put_manifest(lake, f"wiki-{number:06}", f"Page {number}", f"Page {number} too")
    for file in lake.files():
        os.utime(file, (then, then))


def _compact(folder: Path) -> None:
    """Twice: the second time, what the first packed was packed two days ago, and is removed."""
    compact(Lake(folder), now=datetime.now(UTC))
    compact(Lake(folder), now=datetime.now(UTC) + timedelta(days=2))


def _compacted(folder: Path) -> str:
    lake = Lake(folder)
    names = lake.partitions(BATCH_PAGES)
    rows = [row["title"] for name in names for row in read_partition(lake, BATCH_PAGES, name)]
    return json.dumps([len(names), sorted(rows)])


def _small_wiki(folder: Path) -> None:
    Holocron(folder).add_source("sample", copy_of_export(SAMPLE_EXPORT, folder / "sample.xml", pages=6))


def _make_knowledge(folder: Path) -> None:
    """All that is made of an export, up to entities and what follows from them."""
    holocron = Holocron(folder)
    lake, source = holocron.lake, holocron.source()
    if not lake.has(SITES, source.name):
        store_site(lake, source, None)
    if seeds_are_stale(lake, source):
        store_seeds(lake, source, None)
    cut_batches(lake, source, now=utc_now())
    fetch(holocron, unfinished_batches(lake, source.name))
    derive(holocron, batches_of(lake, source.name))


def _known(folder: Path) -> str:
    found = hash_lake(Holocron(folder).lake)
    return json.dumps([found.sha256, {name: table.rows for name, table in found.tables.items()}])


def _batch(folder: Path) -> None:
    put_manifest(Lake(folder), BATCH, *(f"Page {number}" for number in range(6)))


def _trees(folder: Path) -> None:
    a_wiki(folder, {name: f"{name} is a tree." for name in ("Ash", "Elm", "Oak")})


def _two_parts(folder: Path) -> None:
    """Journals of which some is packed and some is not."""
    trees = {f"Tree {number}": f"Tree {number} is a tree." for number in range(30)}
    lake, then = a_wiki(folder, trees), time() - timedelta(days=3).total_seconds()
    for count in (15, 15):
        work = PartitionWork(lake, KINDS, BATCH, model=SMALL, digest=DIGEST)
        for item in work.ready(datetime.now(UTC))[:count]:
            work.start(item)
            work.record(item, Outcome("ok", GOOD))
        work.publish("run")  # closes them
        if work.answered == count:
            pack_journals(lake, now=datetime.now(UTC) + timedelta(days=3))
    os.utime(journal_path(lake, KINDS, BATCH), (then, then))


def _pack_journals(folder: Path) -> None:
    pack_journals(Lake(folder), now=datetime.now(UTC))


def _packed_journals(folder: Path) -> str:
    path = journal_path(Lake(folder), KINDS, BATCH)
    assert not path.exists(), "it was left unpacked"
    return json.dumps(list(Journal(path).records()))


WORKS = {
    "fetch a batch": Work(_batch, _fetch, _fetched),
    "ask a model": Work(_trees, _answer, _answered),
    "decide": Work(lambda _: None, _decide, _decided),
    "compact": Work(_many_batches, _compact, _compacted),
    "pack journals": Work(_two_parts, _pack_journals, _packed_journals),
    "make knowledge": Work(_small_wiki, _make_knowledge, _known),
}
