"""`known_links` through Dagster: made by a run, and requested when only it shows what is left to fetch."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from crawl_rows import known, outcome, put_links, put_outcomes, put_site
from sample_dagster import definitions_of, metadata_of, run_job
from sample_holocron import Holocron
from watched import Watched

from holocron_assets.crawl.frontier import known_links
from holocron_assets.crawl.frontier.coverage import coverage
from holocron_assets.crawl.sources.seeds import SEEDS_VERSION, fingerprint
from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import BATCH_PAGES, KNOWN_LINKS, SEED_TITLES
from holocron_assets.orchestration.runs.waiting import LocalRuns
from holocron_assets.orchestration.sensors import crawl_and_entities as sensors
from holocron_assets.planning.job_names import LINKS_JOB
from holocron_assets.planning.work import Work, links_to_compact


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    """A wiki of which A, B and C were fetched, and D is one link too far away; F was fetched since."""
    holocron = Holocron(tmp_path)
    holocron.sources_folder.mkdir()
    (holocron.sources_folder / "wiki.yaml").write_text(
        "name: wiki\nenabled: true\nkind: mediawiki_api\naddress: http://127.0.0.1:9/api.php\ndepth: 2\n"
        "private_hosts: [127.0.0.1]\nseeds: {titles: [A, F]}\npoliteness: {contact: test@example.org}\n"
    )
    source, lake = holocron.source("wiki"), holocron.lake
    put_site(lake)
    seeds = [{**known(title), "origin": "title", "listed_at": utc_now()} for title in ("A", "F")]
    write_partition(lake, SEED_TITLES, "wiki", seeds, code_version=SEEDS_VERSION, inputs=fingerprint(source))
    put_outcomes(lake, "wiki-000001", outcome("A"), outcome("B"), outcome("C"))
    put_links(lake, "wiki-000001", ("A", "B"), ("B", "C"), ("C", "D"))
    with dg.DagsterInstance.ephemeral() as instance:
        yield Watched(holocron, instance)


def compact(watched: Watched) -> dg.ExecuteInProcessResult:
    watched.instance.add_dynamic_partitions("sources", ["wiki"])
    return run_job(watched.holocron, watched.instance, LINKS_JOB, "wiki")


def test_a_run_by_a_new_instance_makes_it_too(watched: Watched) -> None:
    work = Work(LINKS_JOB, "wiki", "compact")
    job = definitions_of(watched.holocron).resolve_job_def
    (done,) = LocalRuns(watched.instance, watched.holocron.lake, job).finish([work])
    assert done.error is None
    assert watched.holocron.lake.has(KNOWN_LINKS, "wiki")


def add_shortcut(watched: Watched) -> Source:
    """F links to C, so that D is in reach."""
    lake = watched.holocron.lake
    put_outcomes(lake, "wiki-000002", outcome("F"))
    put_links(lake, "wiki-000002", ("F", "C"))
    return watched.holocron.source("wiki")


def test_a_run_makes_it_and_says_what_is_inside(watched: Watched) -> None:
    metadata = metadata_of(compact(watched), KNOWN_LINKS)
    assert (metadata["dagster/row_count"], metadata["batches"]) == (5, 1)
    assert list(coverage(watched.holocron.lake, watched.holocron.source("wiki")).covered) == ["wiki-000001"]


def test_the_sensor_asks_for_it_before_a_source_counts_as_done_and_then_cuts_what_it_hid(
    watched: Watched,
) -> None:
    compact(watched)
    add_shortcut(watched)
    lake = watched.holocron.lake
    first = watched.tick(sensors.new_pages)
    assert first.work == [(LINKS_JOB, "wiki")]
    assert lake.partitions(BATCH_PAGES) == ["wiki-000001", "wiki-000002"]
    watched.run(first.asked[0])
    second = watched.tick(sensors.new_pages, first.cursor)
    assert second.work == [("crawl_batch", "wiki-000003")]


def test_a_sensor_requests_it_before_a_snapshot_that_would_take_too_long(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_links, "_MOST_NEW", 0)
    monkeypatch.setattr(known_links, "_FEWEST_NEW", 1)
    assert watched.tick(sensors.new_pages).work == [(LINKS_JOB, "wiki")]
    assert watched.holocron.lake.partitions(BATCH_PAGES) == ["wiki-000001"]


def test_making_known_links_is_new_work_after_each_time(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_links, "_FEWEST_NEW", 1)
    source, lake = watched.holocron.source("wiki"), watched.holocron.lake
    (first,) = links_to_compact(lake, [source])
    (again,) = links_to_compact(lake, [source])
    assert first.key == again.key
    compact(watched)
    assert links_to_compact(lake, [source]) == []
    add_shortcut(watched)
    (later,) = links_to_compact(lake, [source])
    assert later.key != first.key
