"""Tags that people give runs, such as `experiment=large_chunks`: rows, to find what those runs made."""

from collections.abc import Mapping

from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import RUN_TAGS

_OURS = ("dagster/", ".dagster/", "holocron/")
"""Prefixes of tags that do not come from a person."""


def tags_by_people(tags: Mapping[str, str]) -> dict[str, str]:
    """The tags of a run that a person gave it."""
    return {key: value for key, value in tags.items() if not key.startswith(_OURS)}


def keep_tags(lake: Lake, run_id: str, job: str, tags: Mapping[str, str]) -> None:
    """Store the tags that a person gave a run, once; if there are none, store nothing.

    Args:
        lake: where the rows go.
        run_id: the run.
        job: its job.
        tags: all of its tags.
    """
    given = tags_by_people(tags)
    if given and not lake.has(RUN_TAGS, run_id):
        rows = [{"run_id": run_id, "job": job, "key": key, "value": value} for key, value in given.items()]
        write_partition(lake, RUN_TAGS, run_id, rows)
