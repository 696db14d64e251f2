"""What reports say of one page and of a lake, whatever state the page is in."""

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from sample_holocron import SAMPLE_BATCH, Holocron, list_seeds_and_cut, sample_holocron

from holocron_assets.cli.knowledge.reports import run_summary
from holocron_assets.cli.operation.status_console import print_status
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import ENTITIES, PAGES
from holocron_assets.lake.views.named_pages import find_page
from holocron_assets.operations.state.snapshot import take_snapshot
from holocron_assets.operations.why.page_report import page_report


def report_of(holocron: Holocron, title: str) -> dict[str, Any]:
    return page_report(holocron.lake, [holocron.source()], "sample", title)


def with_page(holocron: Holocron, folder: Path, title: str, **changes: Any) -> Holocron:
    """A copy in which one fetched page came out otherwise."""
    copy = holocron.copy_to(folder)
    rows = read_partition(copy.lake, PAGES, SAMPLE_BATCH)
    for row in rows:
        if row["title"] == title:
            row.update(changes)
    write_partition(copy.lake, PAGES, SAMPLE_BATCH, rows)
    return copy


def test_a_promoted_page_leads_from_revision_to_entity(finished_sample: Holocron) -> None:
    report = report_of(finished_sample, "Issa Dorrane")
    (revision,), (page_type,), (entity,) = report["revisions"], report["type"], report["entities"]
    assert revision["revision_id"] == page_type["revision_id"] == entity["revision_id"] == 2397
    assert report["signals"][0]["infobox_template"] == "Character"
    assert report["classifications"][0]["evidence"][0]["rule_id"] == page_type["rule_ids"][0]
    assert {row["alias"] for row in report["aliases"]} >= {"Issa Dorrane", "Issa Dorrane/Canon"}
    assert report["linked_from"] == [{"pages": 21}]
    assert report["frontier"][0]["status"] == "done"
    assert report["stuck"].startswith("It is a promoted entity of type PersonCharacter: ")


def test_an_entity_that_a_person_should_check_says_why_and_is_counted(
    finished_sample: Holocron, tmp_path: Path
) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    rows = read_partition(holocron.lake, ENTITIES, "PersonCharacter")
    for row in rows:
        if row["title"] == "Issa Dorrane":
            row.update(review_reason="page restored", review_since=utc_now())
    write_partition(holocron.lake, ENTITIES, "PersonCharacter", rows)
    report = report_of(holocron, "Issa Dorrane")
    assert report["entities"][0]["review_reason"] == "page restored"
    assert report["stuck"].endswith(". A person should look at it: page restored.")
    status = take_snapshot(holocron.lake, [holocron.source()], holocron.politeness_folder)
    (counted,) = [row for row in status.reasons if (row.stage, row.status) == ("entities", "needs review")]
    assert (counted.reason, counted.items) == ("PersonCharacter", 1)
    assert [row.review for row in status.stages if row.stage == "entities"] == [1]


def test_a_merged_entity_says_what_it_is_now(finished_sample: Holocron, tmp_path: Path) -> None:
    holocron = finished_sample.copy_to(tmp_path)
    rows = read_partition(holocron.lake, ENTITIES, "PersonCharacter")
    (survivor,) = [row for row in rows if row["title"] == "Nem Sixfinger"]
    for row in rows:
        if row["title"] == "Issa Dorrane":
            row.update(state="merged", merged_into=survivor["entity_id"])
    write_partition(holocron.lake, ENTITIES, "PersonCharacter", rows)
    report = report_of(holocron, "Issa Dorrane")
    assert f"It was merged into 'Nem Sixfinger', {survivor['entity_id']}." in report["stuck"]
    assert report["entities"][0]["merged_into"] == survivor["entity_id"]


def test_canon_and_legends_pages_have_reports_of_their_own(finished_sample: Holocron) -> None:
    canon, legends = (report_of(finished_sample, f"Issa Dorrane{end}") for end in ("", "/Legends"))
    assert canon["entities"][0]["entity_id"] != legends["entities"][0]["entity_id"]


def test_the_reason_why_a_page_was_requested_is_shown(finished_sample: Holocron) -> None:
    (batch,) = report_of(finished_sample, "Issa Dorrane")["batches"]
    assert (batch["batch"], batch["reason"]) == (SAMPLE_BATCH, "new")


def test_a_redirect_says_where_it_leads(finished_sample: Holocron) -> None:
    stuck = report_of(finished_sample, "Issa Dorrane/Canon")["stuck"]
    assert stuck.startswith("It has no entity. It is typed ReferenceMeta at 1.00: ")
    assert "Issa Dorrane" in stuck


def test_a_fetched_page_that_was_not_typed_yet_says_that_it_was_asked_for(fetched_sample: Holocron) -> None:
    assert report_of(fetched_sample, "Issa Dorrane")["stuck"] == "It was asked for, and is ok."


def test_a_page_of_an_unfinished_batch_is_in_flight(tmp_path: Path) -> None:
    holocron = sample_holocron(tmp_path)
    list_seeds_and_cut(holocron)
    assert report_of(holocron, "Issa Dorrane")["stuck"] == "It is in flight."


def test_a_page_that_is_in_no_table_is_reported_as_unknown(finished_sample: Holocron) -> None:
    assert report_of(finished_sample, "Nobody")["stuck"].startswith("Nothing is known of it: ")


@pytest.mark.parametrize(
    ("changes", "stuck"),
    [
        ({"status": "missing"}, "It was asked for, and is missing."),
        ({"status": "invalid", "error": "bad title"}, "It was asked for, and is invalid."),
        (
            {"status": "dead", "error": "'Button': HTTP 500"},
            "It is dead-lettered: 'Button': HTTP 500. `holocron requeue` brings it back.",
        ),
    ],
    ids=["missing", "invalid", "dead"],
)
def test_a_page_without_a_text_says_what_became_of_it(
    fetched_sample: Holocron, tmp_path: Path, changes: dict[str, Any], stuck: str
) -> None:
    assert report_of(with_page(fetched_sample, tmp_path, "Button", **changes), "Button")["stuck"] == stuck


def test_a_page_that_failed_for_now_says_when_it_is_due(fetched_sample: Holocron, tmp_path: Path) -> None:
    due = utc_now() + timedelta(minutes=2)
    failed = {"status": "failed", "error": "'Button': timed out", "due_at": due, "revision_id": None}
    stuck = report_of(with_page(fetched_sample, tmp_path, "Button", **failed), "Button")["stuck"]
    assert stuck == f"It failed, and is due again at {due:%Y-%m-%d %H:%M:%S} UTC: 'Button': timed out"


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("Issa Dorrane", [("sample", "Issa Dorrane")]),
        ("issa_dorrane ", [("sample", "Issa Dorrane")]),
        ("ÖTHERON", [("sample", "Ötheron")]),
        ("Issa Dorrane/Legends", [("sample", "Issa Dorrane/Legends")]),
        ("Issa Dor", []),
        ("%", []),
        ("", []),
    ],
)
def test_a_page_is_found_by_its_title_in_any_case(
    finished_sample: Holocron, written: str, found: list[tuple[str, str]]
) -> None:
    assert find_page(finished_sample.lake, written, None) == found


def test_a_page_that_is_only_linked_to_is_found(finished_sample: Holocron) -> None:
    assert find_page(finished_sample.lake, "makers of sennick", None) == [("sample", "Makers of Sennick")]
    stuck = report_of(finished_sample, "Makers of Sennick")["stuck"]
    assert stuck == "It is skipped: the dump does not hold it."


def test_a_page_of_another_source_is_not_found(finished_sample: Holocron) -> None:
    assert find_page(finished_sample.lake, "Issa Dorrane", "other") == []


@pytest.mark.parametrize("ask", [find_page, page_report, run_summary])
def test_an_empty_lake_gives_empty_reports(tmp_path: Path, ask: Callable[..., Any]) -> None:
    holocron = sample_holocron(tmp_path)
    sources = [holocron.source()]
    arguments: dict[Any, tuple[Any, ...]] = {
        find_page: ("Issa Dorrane", None),
        page_report: (sources, "sample", "Issa Dorrane"),
        run_summary: (sources,),
    }
    said = ask(holocron.lake, *arguments[ask])
    rows = said if isinstance(said, list) else [row for name, row in said.items() if name in _ROWS]
    assert not any(rows)


_ROWS = {"revisions", "type", "entities", "dead_letters", "pages", "types", "review"}


def test_a_summary_counts_what_a_source_came_to(finished_sample: Holocron) -> None:
    summary = run_summary(finished_sample.lake, [finished_sample.source()])
    assert summary["pages"] == [{"status": "ok", "pages": 180}]
    assert sum(row["pages"] for row in summary["types"]) == 180
    for row in summary["entities"]:
        type_name, entities, *by_state = row.values()
        assert entities == sum(by_state), type_name
    assert summary["review"] == sorted(summary["review"], key=lambda row: (row["confidence"], row["title"]))
    assert summary["dead_letters"] == []


def test_what_people_merged_and_promoted_is_counted_too(finished_sample: Holocron, tmp_path: Path) -> None:
    holocron = finished_sample.copy_to(tmp_path / "holocron")
    rows = read_partition(holocron.lake, ENTITIES, "Species")
    rows[0]["state"], rows[1]["state"] = "merged", "adjudicated"
    write_partition(holocron.lake, ENTITIES, "Species", rows)
    summary = run_summary(holocron.lake, [holocron.source()])
    species = next(row for row in summary["entities"] if row["type"] == "Species")
    counted = {name: species[name] for name in ("entities", "promoted", "adjudicated", "merged")}
    assert counted == {"entities": len(rows), "promoted": len(rows) - 2, "adjudicated": 1, "merged": 1}
    printed = StringIO()
    print_status(Console(file=printed, width=100), take_snapshot(holocron.lake, [], tmp_path))
    head = next(line for line in printed.getvalue().splitlines() if "adjudicated" in line)
    assert head.split()[2:] == ["promoted", "adjudicated", "candidate", "merged"], "no state that none has"
