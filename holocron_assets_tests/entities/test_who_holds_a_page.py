"""Every sure page has one entity, in one type, whatever was moved, typed otherwise or decided before."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from resolved_wiki import TYPES, Seen, Wiki, redirect, wiki_of

from holocron_assets.decisions.log import all_decisions, new_decision, record
from holocron_assets.entities.identity import pair_store
from holocron_assets.entities.identity.identity import entity_id
from holocron_assets.entities.identity.pair_store import store_pairs
from holocron_assets.entities.snapshot import open_snapshot
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import Footer, read_footer, write_partition, write_table
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import COMPARED_NAMES, ENTITIES, ENTITY_CANDIDATES, PAGE_TYPES

pytestmark = pytest.mark.system

GORT, VARN = entity_id("sample", "Gort"), entity_id("sample", "Varn")


def crawl(wiki: Wiki, *pages: Seen) -> None:
    wiki.crawl(*pages)
    wiki.resolve_all()


def decide(wiki: Wiki, kind: str, identifier: str, other: str | None = None) -> None:
    row = new_decision(kind, entity_id=identifier, other_id=other, author="Kim", reason="It is so.")
    record(wiki.lake, [row])
    wiki.batches += 1
    wiki.resolve_all()


def standing(wiki: Wiki) -> list[tuple[Any, ...]]:
    rows = wiki.query(
        "select entity_type, entity_id, page_id, state from lake.entities "
        "where valid_to is null and state <> 'suppressed' order by all"
    )
    return [tuple(row.values()) for row in rows]


def test_what_a_type_gave_up_is_not_one_with_what_stays_there(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Gort", 5), Seen("Varn", 1))
    wiki.resolve_all()
    crawl(wiki, Seen("Gort", 5, "PersonCharacter", confidence=0.97, revision_id=101))
    crawl(wiki, Seen("Gort", 5, "Species", confidence=0.7, revision_id=102))
    decide(wiki, "merge", GORT, VARN)
    assert standing(wiki) == [("PersonCharacter", GORT, 5, "promoted"), ("Species", VARN, 1, "promoted")]


def test_a_new_page_does_not_take_the_place_of_one_that_is_in_dispute(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 1, confidence=0.97))
    wiki.resolve_all()
    crawl(wiki, Seen("Varn (droid)", 1, "Droid", confidence=0.85, revision_id=101))
    crawl(wiki, Seen("Varn", 2, revision_id=102))
    second = entity_id("sample", "Varn", "2")
    assert sorted(standing(wiki), key=lambda row: row[2]) == [
        ("Species", VARN, 1, "promoted"),
        ("Species", second, 2, "promoted"),
    ]
    assert wiki.stale() == []


def test_a_type_is_stale_while_its_page_stands_for_nothing_in_any_type(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Gort", 5, "Droid"))
    wiki.resolve_all()
    footer = read_footer(wiki.lake, ENTITIES, "Droid")
    assert footer is not None
    inputs = dict(footer.inputs)
    write_partition(wiki.lake, ENTITIES, "Droid", [], code_version=footer.code_version, inputs=inputs)
    assert wiki.stale() == ["Droid"]
    wiki.resolve_all()
    assert standing(wiki) == [("Droid", GORT, 5, "promoted")]
    assert wiki.stale() == []


def test_a_person_who_brings_an_entity_back_sees_at_once_what_is_in_dispute(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Gort", 5, confidence=0.85))
    wiki.resolve_all()
    crawl(wiki, Seen("Gort", 5, "Unknown", confidence=0.5, revision_id=101))
    decide(wiki, "promote", GORT)
    reasons = wiki.reviews()
    assert "a person promoted or merged it as Species" in reasons["Gort"]
    crawl(wiki, Seen("Other", 9))
    assert wiki.reviews() == reasons


def test_a_run_that_ends_between_pairs_and_what_they_were_made_of_loses_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 1))
    varns = Seen("Varns", 2, categories=("Merge candidates",))
    crawl(wiki, varns)
    before = wiki.query("select pair_id from lake.entity_pairs")
    assert len(before) == 1
    retype(wiki, replace(varns, entity_type="Droid"))

    def die(lake: Lake, table: Table, *args: Any, **named: Any) -> Footer:
        if table is COMPARED_NAMES:
            raise KeyboardInterrupt
        return write_table(lake, table, *args, **named)

    with monkeypatch.context() as patched:
        patched.setattr(pair_store, "write_table", die)
        with open_snapshot(wiki.lake) as snapshot, pytest.raises(KeyboardInterrupt):
            store_pairs(snapshot, "Species", entity_types=frozenset(TYPES))
    retype(wiki, varns)
    wiki.resolve_all()
    assert wiki.query("select pair_id from lake.entity_pairs") == before


def retype(wiki: Wiki, page: Seen) -> None:
    """Read the second batch otherwise."""
    wiki._write(ENTITY_CANDIDATES, "sample-000002", [wiki._candidate(page)])  # noqa: SLF001 - the batch's own tables
    wiki._write(PAGE_TYPES, "sample-000002", [wiki._type(page)])  # noqa: SLF001 - the same


def test_what_people_decided_about_a_page_that_moved_holds_in_a_rebuilt_lake(tmp_path: Path) -> None:
    moved = [redirect("Varn", "Varn II", 77), Seen("Varn II", 1, confidence=0.85, revision_id=101)]
    newcomer = Seen("Varn", 9, "Droid", revision_id=102)
    wiki = wiki_of(tmp_path / "first", Seen("Varn", 1))
    wiki.resolve_all()
    crawl(wiki, *moved)
    decide(wiki, "promote", VARN)
    crawl(wiki, newcomer)
    rebuilt = Wiki(Lake(tmp_path / "rebuilt"))
    for pages in ([Seen("Varn", 1)], moved, [newcomer]):
        rebuilt.crawl(*pages)
    record(rebuilt.lake, all_decisions(wiki.lake))
    rebuilt.resolve_all()
    assert ("Species", VARN, 1, "adjudicated") in standing(rebuilt)
    assert standing(rebuilt) == standing(wiki)


def test_pages_that_had_one_title_in_turn_have_the_same_ids_in_a_rebuilt_lake(tmp_path: Path) -> None:
    batches = [
        [Seen("Varn", 1)],
        [Seen("Zarn", 1, revision_id=101), Seen("Varn", 2, revision_id=102)],
        [Seen("Xarn", 2, revision_id=103), Seen("Varn", 3, revision_id=104)],
    ]
    wiki, rebuilt = Wiki(Lake(tmp_path / "first")), Wiki(Lake(tmp_path / "rebuilt"))
    for pages in batches:
        crawl(wiki, *pages)
        rebuilt.crawl(*pages)
    rebuilt.resolve_all()
    second, third = (entity_id("sample", "Varn", number) for number in "23")
    assert wiki.ids() == {"Zarn": VARN, "Xarn": second, "Varn": third}
    assert rebuilt.ids() == wiki.ids()
