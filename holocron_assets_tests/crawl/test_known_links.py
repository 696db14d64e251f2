"""Table `known_links`: the frontier's memory, which changes nothing but the time it takes."""

from pathlib import Path
from unittest.mock import patch

import pytest
from crawl_rows import (
    HOUR,
    LONG_AGO,
    dump_source,
    frontier,
    outcome,
    put_links,
    put_manifest,
    put_outcomes,
    put_seeds,
    statuses,
    titles,
    wiki_source,
)

from holocron_assets.crawl.frontier import known_links
from holocron_assets.crawl.frontier.coverage import coverage
from holocron_assets.crawl.frontier.known_links import (
    compaction_is_due,
    enough_is_new,
    make_known_links,
    standing,
)
from holocron_assets.crawl.frontier.pending import outlook, pending_pages
from holocron_assets.crawl.frontier.views import sql_part
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import SchemaError
from holocron_assets.lake.files.parquet import DamagedPartitionError, read_footer, read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import KNOWN_LINKS, PAGE_LINKS, PAGES

pytestmark = pytest.mark.system


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def put_batch(lake: Lake, number: int, links: dict[str, list[str]], hours: int = 0) -> None:
    """A finished batch of pages with their links, asked for some hours after the others."""
    name = f"wiki-{number:06d}"
    put_outcomes(lake, name, *[outcome(title, fetched_at=LONG_AGO + hours * HOUR) for title in links])
    put_links(lake, name, *[(start, target) for start, targets in links.items() for target in targets])


def rows(lake: Lake) -> dict[str, dict[str, object]]:
    return {row["title"]: row for row in read_partition(lake, KNOWN_LINKS, "wiki")}


def test_known_links_hold_a_row_for_every_known_title(lake: Lake) -> None:
    put_seeds(lake, "A", "S")
    put_batch(lake, 1, {"A": ["B", "C"], "B": ["C", "Category:D"]})
    footer = make_known_links(lake, wiki_source(depth=2))
    found = rows(lake)
    assert footer.rows == len(found) == 5
    assert {
        title: (row["is_seed"], row["inbound"], row["depth"], row["status"]) for title, row in found.items()
    } == {
        "A": (True, 0, 0, "ok"),
        "S": (True, 0, 0, None),
        "B": (False, 1, 1, "ok"),
        "C": (False, 2, 1, None),
        "Category:D": (False, 1, 2, None),
    }
    assert found["Category:D"]["via_key"] == title_key("wiki", "B")
    assert found["Category:D"]["namespace"] == 14
    assert found["A"]["answered_at"] == found["A"]["asked_at"] == LONG_AGO


def test_the_footer_of_known_links_names_the_batches_that_they_cover(lake: Lake) -> None:
    source = wiki_source(depth=1)
    put_seeds(lake, "A")
    put_batch(lake, 1, {"A": ["B"]})
    put_outcomes(lake, "wiki-000002", outcome("B"))  # its links were not read yet
    put_manifest(lake, "wiki-000003", "C")
    put_outcomes(lake, "wiki_2-000001", outcome("X", source="wiki_2"))
    make_known_links(lake, source)
    held = coverage(lake, source)
    assert held.is_usable
    assert list(held.covered) == ["wiki-000001"]
    assert (held.new, held.new_with_links, held.unfinished) == (["wiki-000002"], [], ["wiki-000003"])
    assert read_footer(lake, KNOWN_LINKS, "wiki") is not None


def test_covered_batches_are_not_read_again(lake: Lake) -> None:
    source = wiki_source(depth=1)
    put_seeds(lake, "A")
    put_batch(lake, 1, {"A": ["B"]})
    make_known_links(lake, source)
    for table in (PAGES, PAGE_LINKS):
        lake.file(table, "wiki-000001").write_bytes(b"no Parquet")
    put_batch(lake, 2, {"B": ["C"]})
    assert pending_pages(lake, source, limit=9) == []


def test_what_came_later_counts_as_if_nothing_had_been_compacted(lake: Lake) -> None:
    source = wiki_source(depth=2)
    put_seeds(lake, "A")
    put_batch(lake, 1, {"A": ["B", "C"]})
    make_known_links(lake, source)
    put_batch(lake, 2, {"B": ["C", "D", "E"], "C": ["E"]})
    found = {page.title: (page.depth, page.discovered_from) for page in pending_pages(lake, source, limit=9)}
    assert list(found) == ["E", "D"]
    assert found["D"] == (2, "B")
    assert found["E"] in {(2, "B"), (2, "C")}
    assert {title: row["inbound"] for title, row in frontier(lake, source).items()} == {
        "A": 0,
        "B": 1,
        "C": 2,
        "D": 1,
        "E": 2,
    }


def test_other_seeds_another_depth_or_other_code_make_it_useless_until_it_is_made_anew(lake: Lake) -> None:
    put_seeds(lake, "A")
    put_batch(lake, 1, {"A": ["B"], "F": ["G"], "B": ["C"]})
    make_known_links(lake, wiki_source(depth=1))
    assert coverage(lake, wiki_source(depth=1)).is_usable
    assert not coverage(lake, wiki_source(depth=2)).is_usable
    assert titles(pending_pages(lake, wiki_source(depth=2), limit=9)) == ["C"]
    before = standing(lake, wiki_source(depth=1))
    put_seeds(lake, "F")
    assert standing(lake, wiki_source(depth=1)) != before
    assert not coverage(lake, wiki_source(depth=1)).is_usable
    assert statuses(lake, wiki_source(depth=1))["G"] == "pending"
    with patch("holocron_assets.crawl.frontier.coverage.KNOWN_LINKS_VERSION", "another"):
        put_seeds(lake, "A")
        assert not coverage(lake, wiki_source(depth=1)).is_usable


def test_a_shortcut_to_a_compacted_page_hides_pages_only_until_it_is_made_anew(lake: Lake) -> None:
    source = wiki_source(depth=2)
    put_seeds(lake, "A", "F")
    put_batch(lake, 1, {"A": ["B"], "B": ["C"], "C": ["D"]})
    make_known_links(lake, source)
    assert statuses(lake, source)["D"] == "skipped"
    put_batch(lake, 2, {"F": ["C"]})
    seen = outlook(lake, source)
    assert (seen.is_pending, seen.has_shortcuts) == (False, True)
    assert compaction_is_due(lake, source)
    make_known_links(lake, source)
    assert statuses(lake, source)["D"] == "pending"
    assert not compaction_is_due(lake, source)


def test_without_an_end_a_shortcut_is_only_what_brings_into_reach(lake: Lake) -> None:
    source = wiki_source(depth=None)
    put_seeds(lake, "A", "F")
    put_batch(lake, 1, {"A": ["B"], "B": ["C"], "C": [], "Added": ["G"]})
    make_known_links(lake, source)
    put_batch(lake, 2, {"F": ["C"]})
    assert not outlook(lake, source).has_shortcuts
    put_batch(lake, 3, {"Z": ["Added"], "C": ["Z"]}, hours=1)
    assert outlook(lake, source).has_shortcuts


def test_links_that_were_read_otherwise_since_are_taken_in_before_a_source_is_done(lake: Lake) -> None:
    source = wiki_source(depth=1)
    put_seeds(lake, "A")
    put_batch(lake, 1, {"A": []})
    make_known_links(lake, source)
    assert not compaction_is_due(lake, source)
    put_links(lake, "wiki-000001", ("A", "B"))
    assert compaction_is_due(lake, source)
    make_known_links(lake, source)
    assert titles(pending_pages(lake, source, limit=9)) == ["B"]


def test_known_links_are_made_anew_once_enough_batches_are_new(lake: Lake) -> None:
    source = wiki_source()
    put_seeds(lake, *"ABC")
    put_batch(lake, 1, {"A": []})
    put_batch(lake, 2, {"B": []})
    assert not compaction_is_due(lake, source)
    with patch.object(known_links, "_FEWEST_NEW", 2):
        assert compaction_is_due(lake, source)
        make_known_links(lake, source)
        assert not compaction_is_due(lake, source)
        put_batch(lake, 3, {"C": []})
        assert not compaction_is_due(lake, source)
        put_batch(lake, 4, {"D": []})
        assert compaction_is_due(lake, source)


def test_while_a_dump_is_read_they_are_made_anew_only_once_half_as_many_batches_are_new(lake: Lake) -> None:
    source = dump_source(lake.root / "wiki.xml")
    put_seeds(lake, *"ABCDEFG", source="dump", ordinal=list(range(7)), revision_id=list(range(7, 14)))

    def read(number: int, title: str) -> None:
        put_outcomes(lake, f"dump-{number:06d}", outcome(title, source="dump", revision_id=number + 7))
        put_links(lake, f"dump-{number:06d}", (title, "Z"))

    for number, title in enumerate("ABCD"):
        read(number, title)
    make_known_links(lake, source)
    with patch.object(known_links, "_FEWEST_NEW", 1), patch.object(known_links, "_SHARE_OF_COVERED", 4):
        read(4, "E")
        assert (enough_is_new(lake, source), compaction_is_due(lake, source)) == (False, True)
        put_manifest(lake, "dump-000005", "F")
        assert not compaction_is_due(lake, source), "more will be new"
        read(5, "F")
        assert enough_is_new(lake, source)
    assert titles(pending_pages(lake, source, limit=9)) == ["G"]


def test_links_of_pages_that_were_read_again_are_gone_once_it_is_made_anew(lake: Lake) -> None:
    source = wiki_source(depth=1)
    put_seeds(lake, "A")
    put_batch(lake, 1, {"A": ["B", "C"]})
    make_known_links(lake, source)
    put_batch(lake, 2, {"A": ["C"]}, hours=1)
    make_known_links(lake, source)
    assert {title: row["inbound"] for title, row in rows(lake).items()} == {"A": 0, "C": 1}


def test_a_dump_goes_on_where_it_was_and_needs_no_depths(lake: Lake) -> None:
    source = dump_source(lake.root / "wiki.xml")
    put_seeds(lake, "B", "A", "C", source="dump", ordinal=[0, 1, 2], revision_id=[7, 8, 9])
    put_outcomes(lake, "dump-000001", outcome("B", source="dump", revision_id=7))
    put_links(lake, "dump-000001", ("B", "Z"))
    make_known_links(lake, source)
    assert [(page.title, page.ordinal) for page in pending_pages(lake, source, limit=9)] == [
        ("A", 1),
        ("C", 2),
    ]
    put_outcomes(lake, "dump-000002", outcome("A", source="dump", revision_id=7))
    assert statuses(lake, source) == {"A": "pending", "B": "done", "C": "pending", "Z": "skipped"}


def test_names_that_are_no_pages_own_lead_on_after_compaction_too(lake: Lake) -> None:
    source = wiki_source(depth=1)
    put_seeds(lake, "Asked")
    put_outcomes(lake, "wiki-000001", outcome("Asked", title="Named by the wiki"))
    put_links(lake, "wiki-000001", ("Named by the wiki", "B"))
    before = frontier(lake, source)
    make_known_links(lake, source)
    assert frontier(lake, source) == before
    assert before["B"]["status"] == "pending"


def test_a_batch_that_cannot_be_read_leaves_the_old_table(lake: Lake) -> None:
    source = wiki_source(depth=1)
    put_seeds(lake, "A")
    put_batch(lake, 1, {"A": ["B"]})
    make_known_links(lake, source)
    before = lake.file(KNOWN_LINKS, "wiki").read_bytes()
    put_batch(lake, 2, {"B": ["C"]})
    lake.file(PAGES, "wiki-000002").write_bytes(b"PAR1 torn PAR1")
    with pytest.raises(DamagedPartitionError, match="wiki-000002"):
        make_known_links(lake, source)
    assert lake.file(KNOWN_LINKS, "wiki").read_bytes() == before
    assert list(lake.root.glob("spill*")) == []


def test_rows_that_do_not_fit_the_table_are_refused(lake: Lake) -> None:
    put_seeds(lake, "A")
    put_batch(lake, 1, {"A": []})
    with (
        patch.object(known_links, "sql_part", two_rows_a_title),
        pytest.raises(SchemaError, match="repeated_keys"),
    ):
        make_known_links(lake, wiki_source())
    assert not lake.has(KNOWN_LINKS, "wiki")


def two_rows_a_title(name: str, **parameters: str) -> str:
    """SQL with a fault: every title is linked to by two."""
    fault = "insert into crawl.linked from crawl.asked select title_key, unnest([1, 2]);"
    return (fault if name == "known_titles" else "") + sql_part(name, **parameters)
