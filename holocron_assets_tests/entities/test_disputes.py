"""A promoted entity keeps its type against a less sure one, until a surer type or a person decides."""

from dataclasses import replace
from pathlib import Path

import pytest
from resolved_wiki import Seen, Wiki, missing, redirect, wiki_of

pytestmark = pytest.mark.system

VARN = Seen("Varn", 4)
DOUBT = Seen("Varn", 4, "Droid", revision_id=101, confidence=0.85, method="model")
BY_A_PERSON = replace(DOUBT, confidence=1.0, method="person")


def resolved(folder: Path, *pages: Seen) -> Wiki:
    return crawl(wiki_of(folder), *pages)


def crawl(wiki: Wiki, *pages: Seen) -> Wiki:
    wiki.crawl(*pages)
    wiki.resolve_all()
    assert wiki.stale() == []
    return wiki


def disputed(folder: Path) -> Wiki:
    return crawl(resolved(folder, VARN), DOUBT)


def test_a_less_sure_type_changes_nothing_but_raises_a_flag(tmp_path: Path) -> None:
    wiki = resolved(tmp_path, VARN)
    before = wiki.ids()
    crawl(wiki, DOUBT)
    assert wiki.entities() == {"Species Varn": "promoted"}
    assert wiki.ids() == before
    assert wiki.reviews()["Varn"] == (
        "type in dispute: by model it is Droid at 0.85, "
        "less surely than the Species at 0.95 that was promoted"
    )


def test_rules_that_became_less_sure_of_another_type_replace_nothing_either(tmp_path: Path) -> None:
    wiki = crawl(resolved(tmp_path, VARN), replace(DOUBT, revision_id=100, method="rules"))
    assert wiki.entities() == {"Species Varn": "promoted"}
    assert list(wiki.reviews()) == ["Varn"]


def test_a_type_too_unsure_for_an_entity_is_a_dispute_too(tmp_path: Path) -> None:
    wiki = crawl(resolved(tmp_path, VARN), replace(DOUBT, confidence=0.5))
    assert wiki.entities() == {"Species Varn": "promoted"}
    assert "Droid at 0.50" in wiki.reviews()["Varn"]


def test_resolving_again_neither_loses_nor_repeats_the_flag(tmp_path: Path) -> None:
    wiki = disputed(tmp_path)
    history = wiki.query("from entity_history")
    wiki.batches += 1
    for entity_type in ("Species", "Droid"):
        wiki.resolve(entity_type)
    assert wiki.query("from entity_history") == history


def test_types_resolved_in_either_order_come_to_the_same(tmp_path: Path) -> None:
    for name, order in {"one": ("Droid", "Species"), "other": ("Species", "Droid")}.items():
        wiki = resolved(tmp_path / name, VARN)
        wiki.crawl(DOUBT)
        for entity_type in order:
            wiki.resolve(entity_type)
        assert wiki.entities() == {"Species Varn": "promoted"}


@pytest.mark.parametrize("surer", [replace(DOUBT, confidence=0.95), BY_A_PERSON], ids=["surer", "a person"])
def test_a_type_as_sure_or_from_a_person_ends_the_dispute_and_takes_the_id_along(
    tmp_path: Path, surer: Seen
) -> None:
    wiki = disputed(tmp_path)
    before = wiki.ids()
    crawl(wiki, surer)
    assert wiki.entities() == {"Droid Varn": "promoted", "Species Varn": "suppressed"}
    assert wiki.ids() == before


def test_a_person_who_decides_for_the_newcomer_leaves_nothing_to_review(tmp_path: Path) -> None:
    assert crawl(disputed(tmp_path), BY_A_PERSON).reviews() == {}


def test_a_person_who_decides_for_what_stands_leaves_nothing_to_review(tmp_path: Path) -> None:
    wiki = crawl(disputed(tmp_path), replace(BY_A_PERSON, entity_type="Species"))
    assert wiki.entities() == {"Species Varn": "promoted"}
    assert wiki.reviews() == {}


def test_a_decision_that_is_withdrawn_leaves_the_page_to_machines(tmp_path: Path) -> None:
    wiki = crawl(crawl(resolved(tmp_path, VARN), BY_A_PERSON), VARN)
    assert wiki.entities() == {"Droid Varn": "suppressed", "Species Varn": "promoted"}


def test_a_dispute_is_over_when_its_cause_is_gone(tmp_path: Path) -> None:
    wiki = crawl(disputed(tmp_path), replace(VARN, revision_id=102))
    assert wiki.entities() == {"Species Varn": "promoted"}
    assert wiki.reviews() == {}


def test_another_newcomer_is_another_dispute(tmp_path: Path) -> None:
    wiki = crawl(disputed(tmp_path), replace(DOUBT, entity_type="PersonCharacter", revision_id=102))
    assert wiki.entities() == {"Species Varn": "promoted"}
    assert "PersonCharacter at 0.85" in wiki.reviews()["Varn"]


@pytest.mark.parametrize(
    ("gone", "reason"),
    [
        (missing("Varn"), "page deleted"),
        (redirect("Varn", "Gort", 4, revision_id=102), "page became a redirect to 'Gort'"),
    ],
)
def test_an_entity_in_dispute_whose_page_is_gone_is_suppressed(
    tmp_path: Path, gone: Seen, reason: str
) -> None:
    wiki = crawl(disputed(tmp_path), gone)
    assert wiki.entities() == {"Species Varn": "suppressed"}
    assert wiki.reviews() == {"Varn": reason}


def test_a_page_that_moved_and_is_in_dispute_has_both_reasons(tmp_path: Path) -> None:
    wiki = crawl(resolved(tmp_path, VARN), replace(DOUBT, title="Varn unit"))
    assert wiki.entities() == {"Species Varn": "promoted"}
    assert wiki.reviews()["Varn"].startswith("page moved from 'Varn' to 'Varn unit'; type in dispute: ")


BY_MODEL = Seen("Varn", 4, confidence=0.92, method="model", model="small:1b")
UNSURE = Seen("Varn", 4, revision_id=101, confidence=0.6)


@pytest.mark.parametrize("surely", [0.92, 0.85], ids=["promoted", "candidate"])
@pytest.mark.parametrize("unsure", [UNSURE, replace(UNSURE, entity_type=None, confidence=0.0)])
def test_an_entity_typed_by_a_model_stays_until_the_model_has_read_the_edited_page(
    tmp_path: Path, surely: float, unsure: Seen
) -> None:
    wiki = resolved(tmp_path, replace(BY_MODEL, confidence=surely))
    before = wiki.entities()
    crawl(wiki, unsure)
    assert wiki.entities() == before
    assert wiki.reviews()["Varn"].endswith("and no model has read the edited page yet")
    crawl(wiki, replace(BY_MODEL, revision_id=101, confidence=surely))
    assert (wiki.entities(), wiki.reviews()) == (before, {})


def test_an_entity_is_suppressed_when_the_model_does_not_know_the_edited_page(tmp_path: Path) -> None:
    wiki = crawl(resolved(tmp_path, BY_MODEL), UNSURE)
    crawl(wiki, replace(UNSURE, model="small:1b"))
    assert wiki.entities() == {"Species Varn": "suppressed"}


def test_an_entity_that_rules_typed_waits_for_no_model(tmp_path: Path) -> None:
    wiki = crawl(resolved(tmp_path, VARN), UNSURE)
    assert wiki.entities() == {"Species Varn": "suppressed"}


def test_an_entity_that_is_not_promoted_yet_follows_its_page(tmp_path: Path) -> None:
    wiki = crawl(resolved(tmp_path, replace(VARN, confidence=0.88)), DOUBT)
    assert wiki.entities() == {"Droid Varn": "candidate", "Species Varn": "suppressed"}


def test_a_type_that_the_entity_once_had_does_not_come_back_unsurely(tmp_path: Path) -> None:
    wiki = crawl(resolved(tmp_path, VARN), replace(DOUBT, confidence=0.97, method="rules"))
    assert wiki.entities() == {"Droid Varn": "promoted", "Species Varn": "suppressed"}
    crawl(wiki, replace(VARN, revision_id=102, confidence=0.9))
    assert wiki.entities() == {"Droid Varn": "promoted", "Species Varn": "suppressed"}
    assert "Species at 0.90" in wiki.reviews()["Varn"]
