"""Trials that were kept: table `trials`, one partition a trial."""

import json
from typing import Any

from holocron_assets.lake.files.parquet import MissingPartitionError, read_partition, write_partition
from holocron_assets.lake.place.paths import Lake, PartitionNameError
from holocron_assets.lake.tables import TRIALS
from holocron_assets.lake.views.database import connect, query
from holocron_assets.trials.report import Report

_LISTED = """
    select tag, interrogation, compared_with, version, model, items, tried_at
    from lake.trials order by tried_at desc, tag
"""


def keep_trial(lake: Lake, report: Report, question: str) -> None:
    """Keep a report, in place of an earlier one of the same tag.

    Args:
        lake: where.
        report: the report.
        question: the interrogation that was tried, as JSON.
    """
    row = {
        "tag": report.tag,
        "interrogation": report.interrogation,
        "compared_with": report.compared_with,
        "version": report.version,
        "prompt_version": report.prompt_version,
        "question": question,
        "model": report.model,
        "model_digest": report.model_digest,
        "items": report.totals.items,
        "tried_at": report.tried_at,
        "report": json.dumps(report.to_json(), ensure_ascii=False),
    }
    write_partition(lake, TRIALS, report.tag, [row])


def kept_trials(lake: Lake) -> list[dict[str, Any]]:
    """The trials that were kept, the newest first, without their reports."""
    with connect(lake, tables=[TRIALS]) as connection:
        return query(connection, _LISTED)


def kept_report(lake: Lake, tag: str) -> dict[str, Any] | None:
    """The report of a trial, as `Report.to_json` gives it; None if no such trial was kept."""
    try:
        [row] = read_partition(lake, TRIALS, tag, ["report"])
    except (MissingPartitionError, PartitionNameError):
        return None
    report: dict[str, Any] = json.loads(row["report"])
    return report
