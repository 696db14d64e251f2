"""Entities and aliases over a real lake: what is stale, what is made, and what a new crawl changes."""

from pathlib import Path

import pytest
from resolved_wiki import START, TYPES, Seen, Wiki, missing, redirect, wiki_of

from holocron_assets.decisions.log import new_decision, record
from holocron_assets.entities import promotion, store
from holocron_assets.entities.data_files import DataFileError
from holocron_assets.entities.snapshot import open_snapshot
from holocron_assets.entities.store import stale_entities, store_aliases, store_entities
from holocron_assets.lake.files.parquet import MissingPartitionError
from holocron_assets.lake.place.paths import Lake

pytestmark = pytest.mark.system


def test_nothing_is_stale_in_an_empty_lake(tmp_path: Path) -> None:
    assert Wiki(Lake(tmp_path)).stale() == []


def test_types_are_stale_until_they_are_resolved(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"), Seen("R5-K2", entity_type="Droid"))
    assert wiki.stale() == ["Droid", "Species"]
    wiki.resolve("Species")
    assert wiki.stale() == ["Droid"]
    wiki.resolve("Droid")
    assert wiki.stale() == []
    assert wiki.entities() == {"Droid R5-K2": "promoted", "Species Varn": "promoted"}


def test_entities_without_aliases_are_stale(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"))
    with open_snapshot(wiki.lake) as snapshot:
        store_entities(snapshot, "Species", entity_types=frozenset(TYPES), now=START, run_id="run-1")
    assert wiki.stale() == ["Species"]


def test_the_mark_of_what_is_stale_stays_until_something_changes(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"))
    first = wiki.mark()
    assert wiki.mark() == first
    wiki.crawl(Seen("Gort"))
    second = wiki.mark()
    assert second != first
    record(wiki.lake, [new_decision("promote", entity_id="id", author="Kim", reason="It is one.")])
    assert wiki.mark() != second


def test_what_a_person_decides_while_entities_are_made_is_followed_by_the_next_run(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"))
    wiki.resolve_all()
    with open_snapshot(wiki.lake) as snapshot:
        assert not snapshot.people.states
        decision = new_decision("suppress", entity_id=wiki.ids()["Varn"], author="Kim", reason="It is none.")
        record(wiki.lake, [decision])
        store_entities(snapshot, "Species", entity_types=frozenset(TYPES), now=START, run_id="run-2")
    with open_snapshot(wiki.lake) as snapshot:
        assert stale_entities(snapshot, ["Species"]) == ["Species"]
    wiki.batches += 1
    wiki.resolve_all()
    assert wiki.entities() == {"Species Varn": "suppressed"}


def test_storing_again_changes_nothing(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4), Seen("Gort", 5), redirect("Varnite", "Varn"))
    before, _ = wiki.resolve()
    wiki.batches += 1
    after, changes = wiki.resolve()
    assert after == before
    assert (changes.new, changes.changed, changes.unchanged) == (0, 0, 2)


def test_the_same_pages_in_another_batch_make_stale_but_change_nothing(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4))
    before, _ = wiki.resolve()
    wiki.crawl(Seen("Varn", 4))
    assert wiki.stale() == ["Species"]
    after, _ = wiki.resolve()
    assert after.content_id == before.content_id
    assert wiki.stale() == []


def test_pages_that_are_no_candidates_make_nothing_stale(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"))
    wiki.resolve()
    wiki.crawl(Seen("Some list", entity_type=None), Seen("R5-K2", entity_type="Droid"))
    assert wiki.stale() == ["Droid"]


def test_a_redirect_that_leads_elsewhere_now_makes_aliases_stale(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"), Seen("Gort"), redirect("Old one", "Varn"))
    wiki.resolve()
    assert wiki.redirects() == {"Old one": "Varn"}
    wiki.crawl(redirect("Old one", "Gort", revision_id=101))
    assert wiki.stale() == ["Species"]
    wiki.resolve()
    assert (wiki.redirects(), wiki.stale()) == ({"Old one": "Gort"}, [])


def test_a_redirect_that_is_gone_is_no_alias_any_more(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"), redirect("Old one", "Varn"))
    wiki.resolve()
    wiki.crawl(missing("Old one"))
    assert wiki.stale() == ["Species"]
    wiki.resolve()
    assert wiki.redirects() == {}


def test_another_policy_makes_entities_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"))
    wiki.resolve()
    policy = tmp_path / "policy.yaml"
    strict = "id: strict\ndefault: {staged: 0.8, candidate: 0.8, promoted: 0.99, requires: []}\ntypes: {}\n"
    policy.write_text(strict, encoding="utf-8")
    monkeypatch.setattr(store, "DEFAULT_POLICY_FILE", policy)
    assert wiki.stale() == ["Species"]
    wiki.resolve()
    assert (wiki.entities(), wiki.stale()) == ({"Species Varn": "candidate"}, [])


def test_a_page_below_the_candidates_confidence_is_staged_where_the_policy_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy.yaml"
    text = "id: wide\ndefault: {staged: 0.6, candidate: 0.8, promoted: 0.9, requires: []}\ntypes: {}\n"
    policy.write_text(text, encoding="utf-8")
    for module in (store, promotion):
        monkeypatch.setattr(module, "DEFAULT_POLICY_FILE", policy)
    promotion.entity_from.cache_clear()
    try:
        wiki = wiki_of(tmp_path, Seen("Varn", confidence=0.7), Seen("Korl", confidence=0.5))
        wiki.resolve()
        assert wiki.entities() == {"Species Varn": "staged"}
        assert wiki.stale() == []
        wiki.crawl(Seen("Varn", confidence=0.5))
        wiki.resolve()
        assert wiki.entities() == {"Species Varn": "suppressed"}
    finally:
        promotion.entity_from.cache_clear()


def test_a_policy_that_is_not_valid_leaves_entities_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"))
    wiki.resolve()
    policy = tmp_path / "policy.yaml"
    policy.write_text("id: strict\n", encoding="utf-8")
    monkeypatch.setattr(store, "DEFAULT_POLICY_FILE", policy)
    with pytest.raises(DataFileError, match=r"policy\.yaml"):
        wiki.resolve()
    assert wiki.entities() == {"Species Varn": "promoted"}


@pytest.mark.parametrize("version", ["ENTITIES_VERSION", "ALIASES_VERSION"])
def test_other_code_makes_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"))
    wiki.resolve()
    monkeypatch.setattr(store, version, "next")
    assert wiki.stale() == ["Species"]


def test_a_page_that_is_gone_takes_its_entity_and_its_names_along(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4), redirect("Varnite", "Varn"))
    wiki.resolve()
    wiki.crawl(missing("Varn"))
    assert wiki.stale() == ["Species"]
    _, changes = wiki.resolve()
    assert changes.suppressed == 1
    assert (wiki.entities(), wiki.redirects(), wiki.stale()) == ({"Species Varn": "suppressed"}, {}, [])


def test_a_page_that_became_a_redirect_gives_its_names_to_the_target(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4), Seen("Gort", 5), redirect("Varnite", "Varn"))
    wiki.resolve()
    wiki.crawl(redirect("Varn", "Gort", 4, revision_id=101))
    wiki.resolve()
    assert wiki.entities() == {"Species Gort": "promoted", "Species Varn": "suppressed"}
    assert wiki.redirects() == {"Varn": "Gort", "Varnite": "Gort"}


def test_a_moved_page_is_one_entity_before_its_old_title_is_crawled_again(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4))
    wiki.resolve()
    before = wiki.ids()
    wiki.crawl(Seen("Varnite", 4, revision_id=101))
    wiki.resolve()
    assert wiki.ids() == {"Varnite": before["Varn"]}
    wiki.crawl(redirect("Varn", "Varnite", 9))
    wiki.resolve()
    assert (wiki.ids(), wiki.redirects()) == ({"Varnite": before["Varn"]}, {"Varn": "Varnite"})


def test_a_page_that_was_moved_and_retyped_leaves_nothing_at_its_old_title(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4))
    wiki.resolve()
    wiki.crawl(Seen("Varnite", 4, "PersonCharacter", revision_id=101))
    assert wiki.stale() == ["PersonCharacter", "Species"]
    wiki.resolve_all()
    assert wiki.entities() == {"PersonCharacter Varnite": "promoted", "Species Varn": "suppressed"}


@pytest.mark.parametrize("order", [("Droid", "Species"), ("Species", "Droid")])
def test_the_title_of_a_moved_page_made_anew_in_another_type_has_an_id_of_its_own(
    tmp_path: Path, order: tuple[str, str]
) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4))
    wiki.resolve()
    before = wiki.ids()
    wiki.crawl(Seen("Varnite", 4), Seen("Varn", 5, "Droid"))
    for entity_type in order:
        wiki.resolve(entity_type)
    assert wiki.ids()["Varnite"] == before["Varn"]
    assert wiki.ids()["Varn"] != before["Varn"]


@pytest.mark.parametrize(("old", "new"), [("Species", "Droid"), ("Droid", "Species")])
def test_pages_that_are_moved_and_retyped_keep_their_ids_where_one_takes_the_place_of_another(
    tmp_path: Path, old: str, new: str
) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4, old), Seen("Gort", 5, new))
    wiki.resolve_all()
    before = wiki.ids()
    wiki.crawl(Seen("Varnite", 4, new, revision_id=101), Seen("Varn", 5, old, revision_id=102))
    wiki.resolve_all()
    assert wiki.ids() == {"Varnite": before["Varn"], "Varn": before["Gort"]}
    assert wiki.stale() == []


@pytest.mark.parametrize(("first", "later"), [("Species", "Droid"), ("Droid", "Species")])
@pytest.mark.parametrize("is_deleted_first", [True, False])
def test_a_new_page_at_the_title_of_a_page_that_was_retyped_and_deleted_is_another_thing(
    tmp_path: Path, first: str, later: str, *, is_deleted_first: bool
) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4, first))
    wiki.resolve_all()
    before = wiki.ids()
    wiki.crawl(Seen("Varn", 4, later, revision_id=101))
    wiki.resolve_all()
    assert wiki.ids() == before
    if is_deleted_first:
        wiki.crawl(missing("Varn"))
        wiki.resolve_all()
    wiki.crawl(Seen("Varn", 5, first, revision_id=102))
    wiki.resolve_all()
    assert wiki.ids().keys() == {"Varn"}
    assert wiki.ids() != before
    assert wiki.stale() == []


def test_a_page_that_moved_gets_its_id_back_whatever_was_written_at_its_old_title(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4))
    wiki.resolve_all()
    before = wiki.ids()
    wiki.crawl(Seen("Varnite", 4, "ReferenceMeta", revision_id=101))
    wiki.resolve_all()
    assert wiki.ids() == {}
    wiki.crawl(Seen("Varn", 9, revision_id=102))
    wiki.resolve_all()
    [(title, identifier)] = wiki.ids().items()
    assert title == "Varn"
    assert identifier != before["Varn"]
    wiki.crawl(Seen("Varnite", 4, revision_id=103))
    wiki.resolve_all()
    assert wiki.ids() == {"Varn": identifier, "Varnite": before["Varn"]}
    assert wiki.stale() == []


def test_ids_survive_a_rebuild_in_which_the_type_is_corrected(tmp_path: Path) -> None:
    first = wiki_of(tmp_path / "first", Seen("Varn", 4, "Species"))
    first.resolve_all()
    rebuilt = wiki_of(tmp_path / "rebuilt", Seen("Varn", 4, "Droid"))
    rebuilt.resolve_all()
    assert rebuilt.ids() == first.ids()


def test_a_title_with_an_entity_of_any_type_is_no_other_entitys_alias(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn", 4), Seen("Gort", 5, "Droid"), redirect("Old Gort", "Gort"))
    wiki.resolve_all()
    wiki.crawl(redirect("Gort", "Varn", 5, revision_id=101))
    wiki.resolve("Species")
    assert (wiki.entities()["Droid Gort"], wiki.redirects()) == ("promoted", {"Old Gort": "Gort"})
    wiki.resolve("Droid")
    assert wiki.stale() == ["Species"]
    wiki.resolve("Species")
    assert (wiki.redirects(), wiki.stale()) == ({"Gort": "Varn", "Old Gort": "Varn"}, [])


def test_aliases_before_entities_are_refused_by_name(tmp_path: Path) -> None:
    wiki = wiki_of(tmp_path, Seen("Varn"))
    missing_entities = pytest.raises(MissingPartitionError, match="table entities has no partition 'Species'")
    with open_snapshot(wiki.lake) as snapshot, missing_entities:
        store_aliases(snapshot, "Species")
