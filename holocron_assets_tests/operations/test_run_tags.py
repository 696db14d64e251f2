"""Tags of runs: a person's are kept once, and nobody else's."""

from pathlib import Path

from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import RUN_TAGS
from holocron_assets.lake.views.database import connect, query
from holocron_assets.operations.run_tags import keep_tags

RUN = "0b3a9f5e-1111-4222-8333-444455556666"
OURS = {"dagster/partition": "wiki-000001", ".dagster/repository": "x", "holocron/work": "y"}
TAGS = {"experiment": "first", **OURS}


def test_what_a_person_tagged_a_run_with_is_kept_once(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    keep_tags(lake, RUN, "crawl_batch", TAGS)
    written = lake.file(RUN_TAGS, RUN).stat().st_mtime_ns
    keep_tags(lake, RUN, "crawl_batch", TAGS)
    assert lake.file(RUN_TAGS, RUN).stat().st_mtime_ns == written
    with connect(lake, tables=[RUN_TAGS]) as connection:
        assert query(connection, "from run_tags") == [
            {"run_id": RUN, "job": "crawl_batch", "key": "experiment", "value": "first"}
        ]


def test_a_run_that_nobody_tagged_leaves_no_row(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    keep_tags(lake, RUN, "crawl_batch", OURS)
    assert lake.partitions(RUN_TAGS) == []
