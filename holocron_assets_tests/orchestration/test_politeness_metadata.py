"""Runs record how polite they were, whether they ended well or failed; sensors leave resting wikis alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from fake_mediawiki import CAPTCHA, FakeWiki, page
from sample_dagster import definitions_of, lake_resource, metadata_of, run_job, sources_resource
from sample_holocron import Holocron, sample_holocron
from tiny_wiki import add_tiny_source, tiny_wiki

from holocron_assets.crawl.frontier.batches import cut_batches
from holocron_assets.crawl.sources.files import load_source
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import PAGES, SITES


@pytest.fixture
def wiki() -> Iterator[FakeWiki]:
    with tiny_wiki() as wiki:
        yield wiki


@pytest.fixture
def holocron(tmp_path: Path, wiki: FakeWiki) -> Holocron:
    holocron = sample_holocron(tmp_path)
    add_tiny_source(holocron, wiki, enabled=True)
    return holocron


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        ephemeral.add_dynamic_partitions("sources", ["tiny"])
        yield ephemeral


def list_and_cut(holocron: Holocron, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    listed = run_job(holocron, instance, "list_seeds", "tiny")
    source = load_source(holocron.sources_folder / "tiny.yaml")
    instance.add_dynamic_partitions("batches", cut_batches(holocron.lake, source, now=utc_now()))
    return listed


def failure_metadata(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
    data = next(event for event in result.all_events if event.is_step_failure).step_failure_data
    assert data.user_failure_data
    return {name: value.value for name, value in data.user_failure_data.metadata.items()}


def test_a_run_records_its_requests_and_their_outcomes(
    holocron: Holocron, instance: dg.DagsterInstance
) -> None:
    listed = list_and_cut(holocron, instance)
    assert metadata_of(listed, SITES)["requests"] == 2  # robots.txt and the site
    crawled = run_job(holocron, instance, "crawl_batch", "tiny-000001")
    said = metadata_of(crawled, PAGES)
    assert (said["requests"], said["request_retries"], said["requests_not_sent"]) == (1, 0, 0)
    assert said["requests_by_outcome"].endswith("| ok | 1 |")
    assert 0 < said["mean_latency_ms"] == said["slowest_latency_ms"]
    assert (said["pace"], said["breaker"], said["politeness_decisions"]) == (1, "closed", "none")


def test_a_run_that_meets_a_captcha_fails_with_reason_and_time_and_records_its_requests(
    holocron: Holocron, instance: dg.DagsterInstance, wiki: FakeWiki
) -> None:
    list_and_cut(holocron, instance)
    wiki.will(page(403, CAPTCHA))
    crawled = run_job(holocron, instance, "crawl_batch", "tiny-000001")
    assert not crawled.success
    said = failure_metadata(crawled)
    assert said["due_at"] > utc_now().timestamp() + 3500
    assert (said["requests"], said["breaker"]) == (1, "open")
    assert "left alone for" in said["politeness_decisions"]
    assert "it wants proof that we are human" in said["politeness_decisions"]


def test_no_run_is_asked_for_while_the_wiki_is_left_alone_and_the_tick_says_why(
    holocron: Holocron, instance: dg.DagsterInstance, wiki: FakeWiki
) -> None:
    list_and_cut(holocron, instance)
    wiki.will(page(403, CAPTCHA))
    run_job(holocron, instance, "crawl_batch", "tiny-000001")
    sensor = definitions_of(holocron).resolve_sensor_def("new_pages")
    resources = {"lake": lake_resource(holocron), "sources": sources_resource(holocron)}
    (holocron.sources_folder / "sample.yaml").unlink(missing_ok=True)
    with dg.build_sensor_context(
        instance=instance, resources=resources, definitions=definitions_of(holocron)
    ) as context:
        tick = sensor.evaluate_tick(context)
    assert not tick.run_requests
    assert "it is being left alone (it wants proof that we are human), until" in str(tick.skip_message)
