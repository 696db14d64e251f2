"""A lake that an earlier version wrote: read as it is, and made anew by the next run (docs/upgrade.md)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asked_lake import ask_lake
from sample_holocron import SAMPLE_BATCH, Holocron

from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import read_footer, read_partition, read_table, write_partition
from holocron_assets.lake.packs.compaction import compact
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_TYPES
from holocron_assets.planning.batch_steps import BATCH_STEPS, run_step

(STEP,) = [step for step in BATCH_STEPS if step.table == PAGE_TYPES]
BEFORE = replace(PAGE_TYPES, columns=tuple(column for column in PAGE_TYPES.columns if not column.added))
"""`page_types` as it was declared first."""


@pytest.fixture
def lake(finished_sample: Holocron, tmp_path: Path) -> Lake:
    """The sample's lake with `page_types` as an earlier version would have left it."""
    lake = finished_sample.copy_to(tmp_path).lake
    write_older(lake, BEFORE)
    return lake


def write_older(lake: Lake, table: Table) -> None:
    names = [column.name for column in table.columns]
    rows = [{name: row[name] for name in names} for row in read_partition(lake, PAGE_TYPES, SAMPLE_BATCH)]
    footer = read_footer(lake, PAGE_TYPES, SAMPLE_BATCH)
    assert footer
    write_partition(
        lake, table, SAMPLE_BATCH, rows, code_version="of an earlier version", inputs=footer.inputs
    )


def without_run(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What rows say, without which run made them."""
    return [{name: value for name, value in row.items() if name != "run_id"} for row in rows]


def test_the_older_file_lacks_what_was_declared_since(lake: Lake) -> None:
    stored = read_table(lake, PAGE_TYPES, SAMPLE_BATCH).column_names
    assert {"rules_type", "model", "tags"} <= set(PAGE_TYPES.added_columns) - set(stored)
    assert {"primary_type", "confidence"} <= set(stored)


def test_older_rows_are_read_as_if_they_left_the_new_columns_empty(
    lake: Lake, finished_sample: Holocron
) -> None:
    rows = read_partition(lake, PAGE_TYPES, SAMPLE_BATCH)
    before = read_partition(finished_sample.lake, PAGE_TYPES, SAMPLE_BATCH)
    assert [row["primary_type"] for row in rows] == [row["primary_type"] for row in before]
    assert {row["rules_type"] for row in rows} == {None}
    asked = "select count(*) as pages, count(rules_type) as filled from page_types"
    assert ask_lake(lake, asked) == [{"pages": 180, "filled": 0}]


def test_older_and_newer_files_are_read_together(lake: Lake) -> None:
    row = read_partition(lake, PAGE_TYPES, SAMPLE_BATCH)[0]
    newer = {**row, "batch": "sample-000002", "rules_type": "Concept", "title": "One more", "title_key": 1}
    write_partition(lake, PAGE_TYPES, "sample-000002", [newer])
    asked = "select rules_type, count(*) as rows from lake.page_types group by all order by rows"
    assert ask_lake(lake, asked) == [{"rules_type": "Concept", "rows": 1}, {"rules_type": None, "rows": 180}]


def test_older_files_wait_to_be_made_anew_and_are_then_what_they_would_have_been(
    lake: Lake, finished_sample: Holocron
) -> None:
    compact(lake, now=utc_now() + timedelta(days=3))
    assert STEP.derivation.is_stale(lake, SAMPLE_BATCH), "other code made it"
    run_step(lake, STEP, SAMPLE_BATCH, "the upgrade")
    assert not STEP.derivation.is_stale(lake, SAMPLE_BATCH)
    rows = read_partition(lake, PAGE_TYPES, SAMPLE_BATCH)
    assert {row["run_id"] for row in rows} == {"the upgrade"}
    assert without_run(rows) == without_run(read_partition(finished_sample.lake, PAGE_TYPES, SAMPLE_BATCH))


def test_a_column_that_is_not_declared_as_added_is_not_there_in_older_rows(lake: Lake) -> None:
    """Why `added=True` must be said."""
    write_older(lake, replace(BEFORE, columns=tuple(c for c in BEFORE.columns if c.name != "reason")))
    row = read_partition(lake, PAGE_TYPES, SAMPLE_BATCH)[0]
    assert "reason" not in row
    assert "rules_type" in row


def test_every_added_column_may_be_empty(lake: Lake) -> None:
    wrong = [(t.name, c.name) for t in lake.tables for c in t.columns if c.added and not c.nullable]
    assert wrong == []
