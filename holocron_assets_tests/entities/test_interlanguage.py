"""Pages of wikis of two languages are one thing by the links that their editors set between them."""

from pathlib import Path
from typing import Any

import pytest
from resolved_wiki import Seen, Wiki
from test_pairs import page, rows_of, verdict

from holocron_assets.entities.identity.evidence.interlanguage import address, links_in
from holocron_assets.entities.identity.records import Record
from holocron_assets.entities.snapshot import open_snapshot
from holocron_assets.lake.place.paths import Lake

CODES = frozenset({"de", "en", "es"})


def english(name: str, *linked: str, **changes: Any) -> Record:
    return page(name, "english", addresses=(address("en", name),), interlanguage=linked, **changes)


def german(name: str, *linked: str, **changes: Any) -> Record:
    return page(name, "german", addresses=(address("de", name),), interlanguage=linked, **changes)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (english("Moth", "de:Falter"), german("Falter")),
        (english("Moth"), german("Falter", "en:Moth")),
        (english("Moth", "de:Falter"), german("Falter", "en:Moth")),
        (english("Moth", "es:Polilla"), german("Falter", "es:Polilla")),
        (english("Moth", "de:Motte"), german("Falter")._replace(addresses=("de:Falter", "de:Motte"))),
        (english("Moth", "de:Falter"), german("Falter", continuity="unknown")),
    ],
)
def test_pages_of_two_languages_are_one_if_one_links_to_the_other_or_both_to_a_third(
    one: Record, other: Record
) -> None:
    (row,) = rows_of(one, other)
    assert (row["verdict"], row["method"]) == ("same", "exact")
    assert "links to" in row["reason"] or "both link to" in row["reason"]


def test_a_link_that_the_other_page_contradicts_is_a_question() -> None:
    (row,) = rows_of(english("Moth", "de:Falter"), german("Falter", "en:Butterfly"))
    assert row["verdict"] == "unsure"
    assert row["reason"] == "'Moth' links to 'de:Falter'; 'Falter' of german links to 'en:Butterfly' instead"


def test_a_name_in_another_language_that_a_link_contradicts_is_a_question_and_no_rival() -> None:
    moth, poison, present = english("Gift", "de:Geschenk"), german("Gift"), german("Geschenk")
    assert verdict(moth, poison) == verdict(moth, poison, present) == "unsure"
    assert verdict(moth, present, poison) == "same"


def test_two_pages_that_link_to_one_are_questions() -> None:
    adult, young, one = english("Moth", "de:Falter"), english("Caterpillar", "de:Falter"), german("Falter")
    assert verdict(adult, one, young) == verdict(young, one, adult) == "unsure"
    assert verdict(adult, young, one) == "none"


def test_links_never_join_canon_and_legends() -> None:
    assert rows_of(english("Moth", "de:Falter"), german("Falter", continuity="legends")) == []


def test_pages_of_two_wikis_of_one_language_are_no_pair_by_their_addresses() -> None:
    one, other = english("Moth"), page("Falter", addresses=("en:Moth",), wiki="second")
    assert rows_of(one, other) == []


@pytest.mark.parametrize(
    ("found", "links"),
    [
        ("de:falter", ["de:Falter"]),
        ("DE : grosser_Falter ", ["de:Grosser Falter"]),
        ("|de=Falter|es=Star Wars: Polilla\n|bg=Moth\n|2", ["de:Falter", "es:Star Wars: Polilla"]),
        ("de:Falter#Raupe", []),
        ("de:", []),
        ("w:de:Falter", []),
        ("Kategorie:Falter", []),
    ],
)
def test_what_is_a_link_to_another_language(found: str, links: list[str]) -> None:
    assert list(links_in([found], CODES)) == links


def two_wikis(folder: Path, text: str, language: str = "de-at") -> tuple[Wiki, Wiki]:
    """An English wiki with a page, and one of another language with two."""
    lake = Lake(folder)
    one, other = Wiki(lake, source="english"), Wiki(lake, source="german")
    one.says_its_language("en")
    other.says_its_language(language)
    one.crawl(Seen("Moth", 1, wikitext=text))
    other.crawl(Seen("Falter", 1), Seen("Motte", 2))
    one.resolve_all()
    return one, other


JUDGED = "select judgement, is_followed, reason from lake.entity_judgements"


@pytest.mark.system
def test_links_in_wikitext_join_the_entities_of_two_wikis(tmp_path: Path) -> None:
    wiki, _ = two_wikis(tmp_path, "A Moth flies. [[:de:Motte]] [[category:Moths]] [[de:falter|Deutsch]]")
    assert wiki.query(JUDGED) == [
        {"judgement": "same", "is_followed": True, "reason": "'Moth' links to 'de:Falter'"}
    ]
    assert sorted(wiki.entities().values()) == ["merged", "promoted", "promoted"]
    assert wiki.stale() == []


@pytest.mark.system
def test_arguments_of_templates_are_links_but_not_hidden_text_or_links_to_the_own_language(
    tmp_path: Path,
) -> None:
    hidden = "<!-- [[de:A]] --> <nowiki>[[de:A]]</nowiki> [[en:A]]"
    wiki, _ = two_wikis(tmp_path, "{{Interlang\n|bg=X\n|de=Falter\n}}" + hidden)
    with open_snapshot(wiki.lake) as snapshot:
        assert list(snapshot.interlanguage_links.values()) == [("de:Falter",)]


@pytest.mark.system
def test_in_a_lake_of_one_language_no_text_is_read_for_links(tmp_path: Path) -> None:
    wiki, _ = two_wikis(tmp_path, "[[de:Falter]]", "en-gb")
    with open_snapshot(wiki.lake) as snapshot:
        assert (snapshot.languages, snapshot.interlanguage_links) == ({}, {})
    assert wiki.query(JUDGED) == []


@pytest.mark.system
def test_a_wiki_whose_language_becomes_known_is_compared_again(tmp_path: Path) -> None:
    wiki, other = two_wikis(tmp_path, "[[de:Falter]]", "en")
    other.says_its_language("de")
    assert wiki.stale() == ["Species"]
    wiki.resolve_all()
    assert [row["judgement"] for row in wiki.query(JUDGED)] == ["same"]


@pytest.mark.system
def test_a_link_to_a_redirect_leads_to_its_page_and_a_link_that_goes_ends_the_merge(tmp_path: Path) -> None:
    wiki, other = two_wikis(tmp_path, "[[de:Nachtfalter]]")
    assert wiki.query(JUDGED) == []
    other.crawl(Seen("Nachtfalter", 3, None, "Falter"))
    wiki.resolve_all()
    assert [row["is_followed"] for row in wiki.query(JUDGED)] == [True]
    wiki.crawl(Seen("Moth", 1, revision_id=101, wikitext="'''Moth''' is one."))
    wiki.resolve_all()
    assert wiki.query(JUDGED) == []
