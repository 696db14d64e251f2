"""An id that was merged leads to its survivor for ever, also when no list has the name any more."""

from pathlib import Path

import pytest
from listed_wiki import SOURCE, ListedWiki, droid, list_of, named

from holocron_assets.decisions.log import new_decision, record
from holocron_assets.entities.identity.identity import entity_id

pytestmark = pytest.mark.system

SLIP, TITLE = "Lampligter Ferryman", "Lamplighter Ferryman"
MENTION, PAGE = entity_id(SOURCE, SLIP), entity_id(SOURCE, TITLE)


@pytest.fixture
def wiki(tmp_path: Path) -> ListedWiki:
    """A page, and a list that names it with a slip."""
    made = ListedWiki(tmp_path)
    made.crawl({TITLE: droid(TITLE), "List of droids": list_of(SLIP)})
    made.read_lists({"List of droids": [named(SLIP)]})
    made.resolve()
    return made


def decide(wiki: ListedWiki, kind: str, identifier: str, other: str | None = None) -> None:
    row = new_decision(kind, entity_id=identifier, other_id=other, author="Kim", reason="It is so.")
    record(wiki.lake, [row])
    wiki.resolve()


def states(wiki: ListedWiki) -> dict[str, tuple[str, str | None]]:
    rows = wiki.query("from lake.entities where valid_to is null")
    return {row["entity_id"]: (row["state"], row["merged_into"]) for row in rows}


def forwards(wiki: ListedWiki) -> dict[str, str]:
    return {row["entity_id"]: row["merged_into"] for row in wiki.query("from entity_forwards")}


def correct_the_list(wiki: ListedWiki) -> None:
    wiki.crawl({"List of droids": list_of(f"[[{TITLE}]]")})
    wiki.read_lists({"List of droids": [named(TITLE)]})
    wiki.resolve()


def test_a_name_that_no_list_has_any_more_leads_on_to_what_it_was(wiki: ListedWiki) -> None:
    assert states(wiki) == {PAGE: ("promoted", None), MENTION: ("merged", PAGE)}
    correct_the_list(wiki)
    assert states(wiki) == {PAGE: ("promoted", None), MENTION: ("merged", PAGE)}
    assert forwards(wiki) == {MENTION: PAGE}
    assert wiki.resolve() == []


def test_an_old_id_leads_on_when_its_survivor_is_out(wiki: ListedWiki) -> None:
    correct_the_list(wiki)
    wiki.crawl({TITLE: "#REDIRECT [[Elsewhere]]"})
    wiki.resolve()
    assert [states(wiki)[each][0] for each in (PAGE, MENTION)] == ["suppressed", "suppressed"]
    assert forwards(wiki) == {MENTION: PAGE}


def test_an_old_id_leads_nowhere_once_a_person_keeps_it_apart(wiki: ListedWiki) -> None:
    correct_the_list(wiki)
    decide(wiki, "split", MENTION, PAGE)
    assert states(wiki)[MENTION] == ("suppressed", None)
    assert forwards(wiki) == {}


def test_a_slip_is_out_with_the_only_entity_that_it_can_mean(wiki: ListedWiki) -> None:
    decide(wiki, "suppress", PAGE)
    assert states(wiki) == {PAGE: ("suppressed", None), MENTION: ("merged", PAGE)}


def test_what_only_lists_name_stands_in_one_type_whichever_comes_first(tmp_path: Path) -> None:
    kettle = entity_id(SOURCE, "Ashen Kettle")
    for number, (first, second) in enumerate((("PersonCharacter", "Droid"), ("Droid", "PersonCharacter"))):
        wiki = ListedWiki(tmp_path / str(number))
        wiki.crawl({"List of droids": list_of("Brass Tam", "Ashen Kettle")})
        for entity_type in (first, second):
            wiki.read_lists(
                {"List of droids": [named(name, entity_type) for name in ("Brass Tam", "Ashen Kettle")]}
            )
            wiki.resolve()
            if entity_type == first:
                decide(wiki, "merge", entity_id(SOURCE, "Brass Tam"), kettle)
        rows = wiki.query("from lake.entities where valid_to is null and state <> 'suppressed'")
        assert [row["entity_type"] for row in rows] == [second, second]
        assert sorted((row["state"], row["merged_into"] or "") for row in rows) == [
            ("merged", kettle),
            ("staged", ""),
        ]
