"""Each change after which a run resolves something again, made by itself."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from resolved_wiki import START, TYPES, Seen, Wiki, wiki_of

from holocron_assets.entities.deciding import decide_state
from holocron_assets.entities.identity import judgement_store
from holocron_assets.entities.identity.judgements import judged
from holocron_assets.entities.snapshot import open_snapshot
from holocron_assets.entities.store import stale_entities
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_footer, read_partition, write_partition
from holocron_assets.lake.tables import ENTITIES, ENTITY_JUDGEMENTS, ENTITY_PAIRS, PAGE_SIGNALS

VARN = Seen("Varn", 4)
TO_MERGE = Seen("Varns", 5, wikitext="{{Merge|Varn}}\n'''Varns''' are a people.")


def crawl(wiki: Wiki, *pages: Seen) -> None:
    wiki.crawl(*pages)
    wiki.resolve_all()


def resolved(folder: Path, *pages: Seen) -> Wiki:
    wiki = wiki_of(folder, *pages)
    wiki.resolve_all()
    return wiki


def test_a_dispute_ends_with_its_cause_though_the_page_is_as_it_was(tmp_path: Path) -> None:
    wiki = resolved(tmp_path, VARN)
    crawl(wiki, Seen("Varn", 4, "Droid", confidence=0.85, method="model"))
    assert list(wiki.reviews()) == ["Varn"]
    crawl(wiki, VARN)
    assert wiki.reviews() == {}


def test_a_type_takes_back_a_page_once_the_file_of_the_type_that_kept_it_is_damaged(tmp_path: Path) -> None:
    unsure_droid = Seen("Varn", 4, "Droid", confidence=0.85, method="model")
    wiki = resolved(tmp_path, unsure_droid)
    crawl(wiki, VARN)
    crawl(wiki, unsure_droid)
    now = "select entity_id, entity_type from entities where state <> 'suppressed'"
    [kept] = wiki.query(now)
    assert kept["entity_type"] == "Species", "the model is less sure"
    wiki.lake.file(ENTITIES, "Species").unlink()  # as a damaged file is set aside
    wiki.resolve_all()
    assert wiki.query(now) == [{**kept, "entity_type": "Droid"}]
    assert wiki.stale() == [], "one run was enough"


@pytest.mark.parametrize("is_typed_again", [False, True], ids=["in its type", "after it was in another"])
def test_an_entity_that_a_person_suppressed_is_resolved_once(tmp_path: Path, *, is_typed_again: bool) -> None:
    wiki = resolved(tmp_path, Seen("Varn", 4, "Droid"), Seen("Nem", 5))
    if is_typed_again:
        crawl(wiki, VARN)
    decide_state(wiki.lake, "suppress", entity_id=wiki.ids()["Varn"], author="Mira", reason="no thing")
    wiki.resolve_all()
    assert wiki.query("select state from entities where title = 'Varn'") == [{"state": "suppressed"}]
    assert wiki.stale() == []


def test_another_continuity_of_the_same_revision_changes_the_entity(tmp_path: Path) -> None:
    wiki = resolved(tmp_path, VARN)
    crawl(wiki, Seen("Varn", 4, continuity="legends"))
    assert wiki.query("select continuity from entities") == [{"continuity": "legends"}]


def test_other_judgements_make_entities_stale(tmp_path: Path) -> None:
    wiki = resolved(tmp_path, VARN, TO_MERGE)
    footer = read_footer(wiki.lake, ENTITY_JUDGEMENTS, "Species")
    assert footer is not None
    inputs = dict(footer.inputs)
    write_partition(
        wiki.lake, ENTITY_JUDGEMENTS, "Species", [], code_version=footer.code_version, inputs=inputs
    )
    with open_snapshot(wiki.lake) as snapshot:
        assert stale_entities(snapshot, ["Species"]) == ["Species"]


def test_judgements_are_stale_if_other_pairs_came_while_they_were_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki = resolved(tmp_path, VARN, TO_MERGE)

    def judged_slowly(*given: Any, **named: Any) -> list[Row]:
        footer = read_footer(wiki.lake, ENTITY_PAIRS, "Species")
        assert footer is not None
        write_partition(wiki.lake, ENTITY_PAIRS, "Species", [], code_version="other", inputs=footer.inputs)
        return judged(*given, **named)

    monkeypatch.setattr(judgement_store, "judged", judged_slowly)
    with open_snapshot(wiki.lake) as snapshot:
        judgement_store.store_judgements(
            snapshot, "Species", entity_types=frozenset(TYPES), now=START + timedelta(days=9)
        )
        assert judgement_store.stale_judgements(snapshot, TYPES) == ["Species"]


def test_what_editors_say_counts_once_a_lake_of_an_older_version_is_read_anew(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, VARN, TO_MERGE)
    read = read_partition(wiki.lake, PAGE_SIGNALS, "sample-000001")
    older = [{**row, "merger_notices": None, "interlanguage_links": None} for row in read]
    write_partition(wiki.lake, PAGE_SIGNALS, "sample-000001", older)
    wiki.resolve_all()
    assert (wiki.query("from lake.entity_pairs"), wiki.stale()) == ([], [])
    write_partition(wiki.lake, PAGE_SIGNALS, "sample-000001", read)
    assert wiki.stale() == ["Species"]
    wiki.resolve_all()
    assert len(wiki.query("from lake.entity_pairs")) == 1


def test_an_entity_with_a_new_name_is_compared_again(tmp_path: Path) -> None:
    wiki = resolved(tmp_path, VARN, Seen("Dune", 5))
    assert wiki.query("from lake.entity_pairs") == []
    crawl(wiki, replace(TO_MERGE, revision_id=101))
    assert len(wiki.query("from lake.entity_pairs")) == 1


@pytest.mark.parametrize(
    "notice",
    [
        "{{merge_with|date=May 2026|[[varn]]}}",
        "{{Merge from\n| Gort\n| Varn\n}}",
        "{{MERGE}}",
    ],
)
def test_a_notice_that_comes_with_an_edit_makes_a_question_and_ends_it_when_it_goes(
    tmp_path: Path, notice: str
) -> None:
    wiki = resolved(tmp_path, VARN, Seen("Varns", 5))
    assert wiki.query("from lake.entity_pairs") == []
    crawl(wiki, Seen("Varns", 5, revision_id=101, wikitext=f"{notice} Varns are a people."))
    assert wiki.query("select judgement from lake.entity_judgements") == [{"judgement": "unsure"}]
    crawl(wiki, Seen("Varns", 5, revision_id=102, wikitext="Varns are a people."))
    assert wiki.query("from lake.entity_judgements") == []


def test_a_category_of_articles_to_be_merged_is_a_notice(tmp_path: Path) -> None:
    wiki = resolved(tmp_path, VARN, Seen("Varns", 5, categories=("Articles to be merged",)))
    assert len(wiki.query("from lake.entity_pairs")) == 1


def test_other_templates_are_no_notice(tmp_path: Path) -> None:
    wiki = resolved(tmp_path, VARN, Seen("Varns", 5, wikitext="{{Merged companies|Varn}} {{Emerge|Varn}}"))
    assert wiki.query("from lake.entity_pairs") == []
