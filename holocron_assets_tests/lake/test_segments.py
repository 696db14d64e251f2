"""Segments of a journal in a shared lake stay in the order in which they were begun."""

from datetime import timedelta
from pathlib import Path

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.shared.segments import new_segment, segments_of


def test_segments_stay_in_order_though_the_clock_of_the_first_machine_was_ahead(tmp_path: Path) -> None:
    journal, begun = tmp_path / "journal.jsonl", []
    for ahead in (timedelta(hours=2), timedelta(0), timedelta(minutes=-5), timedelta(hours=3)):
        path, first_line = new_segment(journal, utc_now() + ahead)
        path.write_bytes(first_line)
        begun.append(path)
    assert segments_of(journal) == begun
