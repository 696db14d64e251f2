"""Rows that stay in the file unread are those that resolving each of them again would give."""

import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from resolved_wiki import START, TYPES, Seen, Wiki, missing, redirect, wiki_of

from holocron_assets.decisions.log import new_decision, record
from holocron_assets.entities.history import resolve_entities
from holocron_assets.entities.identity import pair_store
from holocron_assets.entities.identity.clusters import merges
from holocron_assets.entities.identity.identity import entity_id
from holocron_assets.entities.identity.judgement_store import store_judgements
from holocron_assets.entities.identity.pair_store import store_pairs
from holocron_assets.entities.identity.pairs import pair_rows
from holocron_assets.entities.identity.records import Record
from holocron_assets.entities.promotion import DEFAULT_POLICY_FILE, load_policy
from holocron_assets.entities.snapshot import Snapshot, open_snapshot
from holocron_assets.entities.store import store_entities
from holocron_assets.entities.type_now import type_now
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import COMPARED_NAMES, ENTITIES, ENTITY_JUDGEMENTS
from holocron_assets.lake.views.database import query

WORTHY = frozenset(TYPES)
TITLES = ("Varn", "Gort", "Dune", "Varn/Legends", "Gort (Legends)")
ALL_PAGES = "select * exclude run_id, 'page' as origin from present_candidates where entity_type = $type"

pages = st.one_of(
    st.builds(
        Seen,
        st.sampled_from(TITLES),
        st.none() | st.integers(1, 4),
        st.sampled_from(["Species", "Species", "Droid"]),
        revision_id=st.integers(100, 102),
        confidence=st.sampled_from([0.7, 0.85, 0.95]),
        method=st.sampled_from(["rules", "person"]),
    ),
    st.builds(missing, st.sampled_from(TITLES)),
    st.builds(redirect, st.sampled_from(TITLES), st.sampled_from(TITLES)),
)
MERGE = ("Merge candidates",)
ALIKE = ("Varn", "Varns", "The Varn", "Varn II", "Korvadda", "Korvada", "Moon of Varn", "Varn Moon")
alike = st.one_of(
    st.builds(
        Seen,
        st.sampled_from(
            ("Varn", "Varns", "The Varn", "Varn II", "Korvadda", "Korvada", "Moon of Varn", "Varn Moon")
        ),
        revision_id=st.integers(100, 102),
        categories=st.sampled_from([MERGE, MERGE, ()]),
    ),
    st.builds(
        redirect, st.sampled_from(("Varns", "Korvado")), st.sampled_from(("Varn II", "Varn", "Korvadda"))
    ),
    st.builds(missing, st.sampled_from(("Varn", "Korvada"))),
)
crawls = st.lists(st.lists(pages, max_size=5, unique_by=lambda page: page.title), min_size=1, max_size=4)
decisions = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(["merge", "split", "promote", "suppress"]),
        st.permutations(TITLES).map(lambda titles: titles[:2]),
    ),
    max_size=3,
)


def expected_rows(snapshot: Snapshot, entity_type: str, moment: int) -> list[Row]:
    """All rows, from every candidate and every standing row."""
    lake = snapshot.lake
    standing = read_partition(lake, ENTITIES, entity_type) if lake.has(ENTITIES, entity_type) else []
    judgements = read_partition(lake, ENTITY_JUDGEMENTS, entity_type)
    ids = {row[side] for row in judgements for side in ("first_id", "second_id")}
    return resolve_entities(
        entity_type,
        query(snapshot.connection, ALL_PAGES, {"type": entity_type}),
        standing,
        policy=load_policy(DEFAULT_POLICY_FILE, WORTHY),
        now=START + timedelta(days=moment),
        run_id=f"run-{moment}",
        elsewhere=snapshot.elsewhere(entity_type),
        pages=snapshot.pages_now,
        merged=merges(judgements, type_now(snapshot, entity_type).members(ids), snapshot.people.held),
        people=snapshot.people,
        first_titles=snapshot.first_titles,
    )


def resolve(wiki: Wiki, moment: int) -> None:
    """Resolve both types, and compare what is stored with what all rows together give."""
    now = START + timedelta(days=moment)
    with open_snapshot(wiki.lake) as snapshot:
        for entity_type in ("Droid", "Species"):
            store_pairs(snapshot, entity_type, entity_types=WORTHY)
            store_judgements(snapshot, entity_type, entity_types=WORTHY, now=now)
            expected = expected_rows(snapshot, entity_type, moment)
            store_entities(snapshot, entity_type, entity_types=WORTHY, now=now, run_id=f"run-{moment}")
            assert read_partition(wiki.lake, ENTITIES, entity_type) == expected


def decide(wiki: Wiki, kind: str, titles: Sequence[str]) -> None:
    one, other = (entity_id("sample", title) for title in titles)
    about: dict[str, Any] = {"other_id": other} if kind in {"merge", "split"} else {}
    record(wiki.lake, [new_decision(kind, entity_id=one, author="Kim", reason="It is so.", **about)])


@pytest.mark.system
@settings(deadline=None, max_examples=8)
@given(crawls, decisions)
def test_what_is_stored_is_what_all_rows_together_give(
    history: list[list[Seen]], decided: list[tuple[int, str, list[str]]]
) -> None:
    with TemporaryDirectory() as folder:
        wiki = Wiki(Lake(Path(folder)))
        for moment, seen in enumerate(history):
            wiki.crawl(*seen)
            for when, kind, titles in decided:
                if when == moment:
                    decide(wiki, kind, titles)
            resolve(wiki, moment)


def pairs_of(wiki: Wiki) -> list[Row]:
    with open_snapshot(wiki.lake) as snapshot:
        return store_pairs(snapshot, "Species", entity_types=WORTHY)[1]


@pytest.mark.system
@settings(deadline=None, max_examples=15)
@given(st.lists(st.lists(alike, max_size=4, unique_by=lambda page: page.title), min_size=2, max_size=4))
def test_pairs_after_more_pages_are_those_of_all_pages_anew(history: list[list[Seen]]) -> None:
    with TemporaryDirectory() as folder:
        wiki = Wiki(Lake(Path(folder)))
        for seen in history:
            wiki.crawl(*seen)
            found = pairs_of(wiki)
            if wiki.lake.has(COMPARED_NAMES, "Species"):
                shutil.rmtree(wiki.lake.folder(COMPARED_NAMES))
            assert found == pairs_of(wiki)
            wiki.resolve_all()


def test_only_what_may_be_like_a_new_page_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 1), Seen("Korvadda", 2), Seen("Solitude", 3))
    wiki.resolve_all()
    wiki.crawl(Seen("Varns", 4, categories=("Merge candidates",)))
    read = list[str]()

    def noted(records: Sequence[Record], *about: Any, **named: Any) -> list[Row]:
        read.extend(one.title for one in records)
        return pair_rows(records, *about, **named)

    monkeypatch.setattr(pair_store, "pair_rows", noted)
    [pair] = pairs_of(wiki)
    assert (pair["first_title"], pair["second_title"]) in {("Varn", "Varns"), ("Varns", "Varn")}
    assert sorted(read) == ["Varn", "Varns"]


def test_what_did_not_change_is_no_row_to_be_decided_about(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 1), Seen("Gort", 2), Seen("Dune", 3))
    wiki.resolve_all()
    wiki.crawl(Seen("Gort", 2, revision_id=101), Seen("Newcomer", 4))
    with open_snapshot(wiki.lake) as snapshot:
        policy = load_policy(DEFAULT_POLICY_FILE, WORTHY)
        candidates, current, left = type_now(snapshot, "Species").changed([], policy)
        busy, _, _ = type_now(snapshot, "Species").changed([entity_id("sample", "Dune")], policy)
    assert {row["title"] for row in candidates} == {"Gort", "Newcomer"}
    assert {row["title"] for row in current} == {"Gort"}
    assert set(left.column("title").to_pylist()) == {"Varn", "Dune"}
    assert {row["title"] for row in busy} == {"Gort", "Newcomer", "Dune"}
