"""Tags over a real lake: of sources and entities, in the vocabulary's words, made anew when these change."""

from pathlib import Path

import pytest
from listed_wiki import ListedWiki, droid, list_of, named

from holocron_assets.decisions.log import new_decision, record
from holocron_assets.entities.data_files import DataFileError
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.tables import TAGS

pytestmark = pytest.mark.system

_WORDS = """
visibility:
  internal: {{any: ["category:.+ stubs"], wiki: ["category:canon .+"]}}
  hidden: {{other: ["category:droids"]}}
tags:
  topic:helpers:
    name: Helpers
    description: Machines that help.
    synonyms: ["category:droids"]
    broader: ["category:machines"]
{more}
"""


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The vocabulary's file."""
    file = tmp_path / "words.yaml"
    write(file)
    monkeypatch.setenv("HOLOCRON_TAGS", str(file))
    return file


@pytest.fixture
def wiki(tmp_path: Path, words: Path) -> ListedWiki:
    assert words.exists()
    wiki = ListedWiki(tmp_path)
    wiki.crawl(
        {
            "Kettle": droid("Kettle") + "[[Category:Droid stubs]][[Category:Canon articles]]",
            "Kettle/Legends": droid("Kettle", "leg"),
            "Category:Droids": "Machines that walk.\n[[Category:Machines]][[Category:Droids]]",
            "Category:Machines": "All of them.",
        }
    )
    wiki.resolve()
    return wiki


def write(file: Path, more: str = "") -> None:
    file.write_text(_WORDS.format(more=more), encoding="utf-8")


def entity_tags(wiki: ListedWiki, title: str) -> dict[tuple[str, str], str]:
    """By tag and method, the page that an entity has it from."""
    rows = wiki.query(
        "select title, tag_id, tags.method, from_title "
        "from entity_tags as tags join entities using (entity_id)"
    )
    return {(row["tag_id"], row["method"]): row["from_title"] for row in rows if row["title"] == title}


def visibility(wiki: ListedWiki) -> dict[str, str]:
    return {row["tag_id"]: row["visibility"] for row in wiki.query("from tags")}


def relations(wiki: ListedWiki) -> set[tuple[str, str, str, str]]:
    rows = wiki.query("from tag_relations")
    return {(row["from_tag"], row["relation"], row["to_tag"], row["method"]) for row in rows}


def test_the_vocabulary_says_whether_a_tag_is_public(wiki: ListedWiki) -> None:
    seen = visibility(wiki)
    assert {tag for tag, shown in seen.items() if shown == "internal"} == {
        "category:canon articles",
        "category:droid stubs",
    }
    assert set(seen.values()) == {"internal", "public"}


def test_tags_are_named_as_their_pages_or_the_vocabulary_call_them(wiki: ListedWiki) -> None:
    names = {row["tag_id"]: (row["name"], row["type"], row["description"]) for row in wiki.query("from tags")}
    assert names["category:droids"] == ("Droids", "category", None)
    assert names["topic:helpers"] == ("Helpers", "topic", "Machines that help.")
    assert names["category:machines"] == ("Machines", "category", None)


def test_category_pages_and_the_vocabulary_say_how_tags_stand_to_each_other(wiki: ListedWiki) -> None:
    assert relations(wiki) == {
        ("category:droids", "broader", "category:machines", "category"),
        ("category:machines", "narrower", "category:droids", "category"),
        ("category:droids", "synonym", "topic:helpers", "vocabulary"),
        ("topic:helpers", "broader", "category:machines", "vocabulary"),
        ("category:machines", "narrower", "topic:helpers", "vocabulary"),
    }


def test_a_category_is_another_one_with_what_its_name_has_in_parentheses(wiki: ListedWiki) -> None:
    wiki.crawl({"Category:Droids (Legends)": "They are no more.\n[[Category:Lost: things (Legends)]]"})
    wiki.resolve()
    narrow, broad = "category:droids (legends)", "category:lost: things (legends)"
    said = {relation for relation in relations(wiki) if broad in relation}
    assert said == {(narrow, "broader", broad, "category"), (broad, "narrower", narrow, "category")}
    names = {row["tag_id"]: row["name"] for row in wiki.query("from tags")}
    assert names[narrow] == "Droids (Legends)"


def test_an_entity_carries_its_pages_tags_in_the_vocabularys_words(wiki: ListedWiki) -> None:
    assert entity_tags(wiki, "Kettle") == {
        ("topic:helpers", "vocabulary"): "Kettle",
        ("category:canon articles", "category"): "Kettle",
        ("category:droid stubs", "category"): "Kettle",
        ("continuity:canon", "signals"): "Kettle",
        ("type:droid", "types"): "Kettle",
    }


def test_what_was_merged_gives_its_tags_to_what_it_is_now(wiki: ListedWiki) -> None:
    ids = {row["title"]: row["entity_id"] for row in wiki.query("from entities")}
    merge = new_decision(
        "merge",
        author="ann",
        reason="one droid",
        source="wiki",
        title="Kettle/Legends",
        entity_id=ids["Kettle/Legends"],
        other_id=ids["Kettle"],
        other_title="Kettle",
    )
    record(wiki.lake, [merge])
    assert "entity_tags" in wiki.resolve()
    assert entity_tags(wiki, "Kettle/Legends") == {}
    merged = entity_tags(wiki, "Kettle")
    assert merged["continuity:legends", "signals"] == "Kettle/Legends"
    assert merged["continuity:canon", "signals"] == "Kettle"


def test_an_entity_whose_page_is_gone_carries_nothing(wiki: ListedWiki) -> None:
    wiki.crawl({"Kettle": "#REDIRECT [[Kettle/Legends]]"})
    wiki.resolve()
    assert entity_tags(wiki, "Kettle") == {}


def test_a_source_has_no_tags_once_its_last_page_is_gone(wiki: ListedWiki) -> None:
    wiki.crawl(
        dict.fromkeys(("Kettle", "Kettle/Legends", "Category:Droids", "Category:Machines"), "#REDIRECT [[A]]")
    )
    wiki.resolve()
    assert (visibility(wiki), relations(wiki)) == ({}, set())
    assert wiki.resolve() == []


def test_nothing_is_made_again_until_something_changes(wiki: ListedWiki) -> None:
    before = read_footer(wiki.lake, TAGS, "wiki")
    assert wiki.resolve() == []
    wiki.crawl({"Kettle": droid("Kettle") + "[[Category:Machines]]"})
    made = wiki.resolve()
    assert {"tags", "tag_relations", "entity_tags"} <= set(made)
    assert read_footer(wiki.lake, TAGS, "wiki") != before
    assert "category:droid stubs" not in visibility(wiki)
    assert ("category:machines", "category") in entity_tags(wiki, "Kettle")


def test_another_vocabulary_makes_tags_anew(wiki: ListedWiki, words: Path) -> None:
    write(words, "  topic:robots: {name: Robots}\n  topic:helpers2: {name: H, replaced_by: topic:robots}\n")
    assert sorted(set(wiki.resolve())) == ["entity_tags", "tag_relations", "tags"]
    assert ("topic:helpers2", "replaced_by", "topic:robots", "vocabulary") in relations(wiki)


def test_a_vocabulary_that_cannot_be_used_leaves_tags_as_they_are(wiki: ListedWiki, words: Path) -> None:
    before = visibility(wiki)
    write(words, "  topic:robots: {nome: Robots}\n")
    with pytest.raises(DataFileError, match=r"words\.yaml: tags\.topic:robots\.name"):
        wiki.resolve()
    assert visibility(wiki) == before


def test_a_chunk_of_a_list_carries_the_types_of_what_it_names(wiki: ListedWiki) -> None:
    wiki.crawl({"List of a": list_of("[[Kettle]]", "Nobody")})
    wiki.read_lists({"List of a": [named("Kettle"), named("Nobody", "Species")]})
    wiki.settle()
    rows = wiki.query("select tag_id, weight from page_tags where target_kind = 'chunk' order by tag_id")
    assert [(row["tag_id"], row["weight"]) for row in rows] == [("type:droid", 0.5), ("type:species", 0.5)]


def test_text_of_a_wiki_is_no_sql_and_no_pattern(wiki: ListedWiki) -> None:
    hostile = "'); drop table x; --|.*"
    wiki.crawl({"Pan": droid("Pan") + f"[[Category:{hostile.replace('|', '')}]]"})
    wiki.resolve()
    assert visibility(wiki)["category:'); drop table x; --.*"] == "public"
