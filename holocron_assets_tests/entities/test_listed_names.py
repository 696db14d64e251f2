"""What a list page names and links to, read without a model."""

from pathlib import Path

import pytest
from listed_wiki import LINKED, ListedWiki, droid, list_of, named

from holocron_assets.derive.evidence.page_text import page_text
from holocron_assets.entities.mentions.listed_names import LONGEST_EVIDENCE, listed_names, type_of_list
from holocron_assets.lake.tables.identity import LINKED as READ_TABLE
from holocron_assets.lake.titles import DEFAULT_SITE

TABLE = """\
{| class="wikitable"
! Joined !! People !! World
|-
| 0 AF || [[Human]]s || [[Ondrel]]
|-
| 1 AF || [[Kellubane people|Kellubanes]] || [[Cassivane]]
|}
"""


def names(wikitext: str, title: str = "List of things") -> list[str]:
    return [row["name"] for row in listed_names(title, page_text(wikitext, DEFAULT_SITE, title), wikitext)]


def test_an_item_is_about_the_link_that_it_begins_with() -> None:
    text = "* [[Glass Gull]], sister of the [[Heron]]\n* ''[[Patient Heron (Legends)|Patient Heron]]''\n"
    assert names(text) == ["Glass Gull", "Patient Heron"]


def test_an_item_that_begins_with_other_words_names_nothing() -> None:
    assert names("* The crew of the [[Heron]]\n* Gull\n* Herons, of the [[Heron]]\n") == []


def test_letters_after_a_link_are_part_of_its_name() -> None:
    assert names("* [[Heron]]s\n") == ["Herons"]


def test_a_row_is_about_the_link_in_its_first_cells_and_its_heading_about_nothing() -> None:
    assert names(TABLE) == ["Humans", "Kellubanes"]


def test_a_table_that_a_template_opens_is_read_like_any_other() -> None:
    opened = TABLE.replace('{| class="wikitable"', "{{Prettytable}}")
    assert opened != TABLE
    assert names(opened) == names(TABLE)


def test_what_stands_under_see_also_is_not_listed() -> None:
    assert names("* [[Gull]]\n\n== See also ==\n* [[Heron]]\n\n== Ships ==\n* [[Tern]]\n") == ["Gull", "Tern"]


def test_a_name_is_given_once_with_its_whole_line() -> None:
    long = "x" * (2 * LONGEST_EVIDENCE)
    text = f"* [[Gull]], sunk\n* [[Gull]] again\n* [[Tern]] {long}\n"
    rows = list(listed_names("List of ships", page_text(text, DEFAULT_SITE, "x"), text))
    assert [row["evidence"] for row in rows] == ["Gull, sunk", f"Tern {long}"[:LONGEST_EVIDENCE]]


@pytest.mark.parametrize(
    ("title", "entity_type"),
    [
        ("List of starships/Legends", "VehicleCraft"),
        ("List of moons of Ondrel", "LocationPlace"),
        ("List of battles (Second War)", "EventConflict"),
        ("List of weapons and vehicles", None),
        ("List of Jedi", None),
        ("Issa Dorrane/Appearances", None),
    ],
)
def test_a_lists_title_gives_the_type_if_it_names_one_kind(title: str, entity_type: str | None) -> None:
    assert type_of_list(title) == entity_type


def test_the_table_that_is_read_is_one_that_an_interrogation_declares() -> None:
    assert LINKED.name == READ_TABLE


@pytest.mark.system
def test_a_linked_name_is_a_mention_of_the_page_and_of_its_type(tmp_path: Path) -> None:
    wiki = ListedWiki(tmp_path)
    wiki.crawl({"Kettle (droid)": droid("Kettle"), "List of Jedi": list_of("[[Kettle (droid)|Kettle]]")})
    wiki.read_links("List of Jedi")
    assert wiki.mentions() == {"Kettle": ("Droid", "link", "Kettle (droid)")}


@pytest.mark.system
def test_a_link_without_a_page_is_a_mention_if_the_lists_title_says_what_it_is(tmp_path: Path) -> None:
    wiki = ListedWiki(tmp_path)
    wiki.crawl({"List of droids": list_of("[[R5-K2]]"), "List of Jedi": list_of("[[Issa]]")})
    wiki.read_links("List of droids")
    assert wiki.mentions() == {"R5-K2": ("Droid", "link", "R5-K2")}
    wiki.read_links("List of Jedi")
    assert wiki.mentions() == {}, "neither a page nor the title says what Issa is"


@pytest.mark.system
def test_what_a_model_says_of_a_linked_name_is_one_mention_with_it(tmp_path: Path) -> None:
    wiki = ListedWiki(tmp_path)
    wiki.crawl({"List of Jedi": list_of("[[R5-K2]]")})
    wiki.read_links("List of Jedi")
    wiki.read_lists({"List of Jedi": [named("R5-K2", "Droid")]})
    wiki.resolve()
    rows = wiki.query("select name, said_type, model from entity_mentions")
    assert [(row["name"], row["said_type"]) for row in rows] == [("R5-K2", "Droid")]
