"""The check of dumps, as Dagster runs it."""

from pathlib import Path

from dagster import AssetCheckResult
from sample_holocron import (
    SAMPLE_EXPORT,
    Holocron,
    fetch,
    list_seeds_and_cut,
    sample_holocron,
)

from holocron_assets.orchestration.checks.quality import dump_is_whole
from holocron_assets.orchestration.resources.resources import LakeResource, SourcesResource


def check(holocron: Holocron) -> AssetCheckResult:
    result = dump_is_whole(
        lake=LakeResource(folder=str(holocron.lake.root)),
        sources=SourcesResource(
            folder=str(holocron.sources_folder), politeness_folder=str(holocron.politeness_folder)
        ),
    )
    assert isinstance(result, AssetCheckResult)
    return result


def test_a_dump_that_was_read_passes_with_its_counts(tmp_path: Path) -> None:
    holocron = sample_holocron(tmp_path)
    fetch(holocron, list_seeds_and_cut(holocron))
    result = check(holocron)
    assert result.passed
    counts = {name: str(value.value) for name, value in result.metadata.items()}
    assert counts["sample: pages in the file"] == counts["sample: with an outcome"] == "180"
    assert counts["sample: still to be read"] == "0"


def test_a_dump_that_is_cut_off_fails_naming_its_source(tmp_path: Path) -> None:
    holocron = sample_holocron(tmp_path / "holocron")
    export = tmp_path / "cut.xml"
    export.write_bytes(SAMPLE_EXPORT.read_bytes()[:-2_000])
    holocron.add_source("cut", export)
    fetch(holocron, list_seeds_and_cut(holocron, "cut"), "cut")
    result = check(holocron)
    assert not result.passed
    assert (result.description or "").startswith("cut: ")
    assert "cut.xml: the file ends too soon" in (result.description or "")
    assert result.metadata["faulty"].value == "cut"
