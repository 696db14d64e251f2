"""Whom statements are about, and which of them are one: where names, titles and pages come apart."""

from pathlib import Path
from typing import Any

import pytest
from listed_wiki import SOURCE, ListedWiki, droid, list_of, named
from wiki_with_facts import WikiWithFacts, page

from holocron_assets.decisions.log import new_decision, record
from holocron_assets.entities.facts import reading
from holocron_assets.entities.facts.model_tables import FACTS, RELATIONS
from holocron_assets.entities.identity.identity import entity_id
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.tables import ENTITIES, ENTITY_FACTS, ENTITY_RELATIONS, ENTITY_TAGS

pytestmark = pytest.mark.system

VEX = entity_id(SOURCE, "Vex")


def decided(wiki: ListedWiki, kind: str, **about: Any) -> None:
    record(wiki.lake, [new_decision(kind, author="Kim", reason="a test says so", **about)])


def moved_while_a_person_holds_it(folder: Path) -> WikiWithFacts:
    """The place "Vex", which a person promoted: its page is "Vex (city)" now, and a person has its title."""
    wiki = WikiWithFacts(folder)
    wiki.crawl({"Vex": page("Planet", "Vex", "|region=Outer Drift")})
    wiki.resolve()
    decided(wiki, "promote", entity_id=VEX)
    wiki.resolve()
    wiki.put_pages({"Vex": 2, "Vex (city)": 1})
    wiki.crawl(
        {
            "Vex (city)": page("Organization", "Vex", "|leader=[[Bel]]") + "[[Category:Cities]]",
            "Vex": page("Character", "Vex", "|gender=Male\n|affiliation=[[Grey Guard]]")
            + "[[Category:People]]",
            "Nem": page("Character", "Nem", "|masters=[[Vex]]"),
        }
    )
    wiki.resolve()
    return wiki


def person_called_vex(wiki: WikiWithFacts) -> str:
    [row] = wiki.query("from entities where title = 'Vex' and entity_type = 'PersonCharacter'")
    return str(row["entity_id"])


def test_a_page_speaks_of_its_own_entity_and_not_of_one_that_still_has_its_title(tmp_path: Path) -> None:
    wiki = moved_while_a_person_holds_it(tmp_path)
    person = person_called_vex(wiki)
    assert person != VEX
    assert {row["fact_key"]: row["entity_id"] for row in wiki.facts("Vex")} == {"gender": person}
    assert [row["from_id"] for row in wiki.relations("Vex")] == [person]
    assert {row["from_id"] for row in wiki.relations("Vex (city)")} == {VEX}


def test_a_link_leads_to_the_page_that_has_the_title_now(tmp_path: Path) -> None:
    wiki = moved_while_a_person_holds_it(tmp_path)
    assert [row["to_id"] for row in wiki.relations("Nem")] == [person_called_vex(wiki)]


def test_an_entity_carries_the_tags_of_its_page_and_not_of_its_old_title(tmp_path: Path) -> None:
    wiki = moved_while_a_person_holds_it(tmp_path)
    rows = [
        row
        for name in wiki.lake.partitions(ENTITY_TAGS)
        for row in read_partition(wiki.lake, ENTITY_TAGS, name)
    ]
    carriers = {row["tag_id"]: row["entity_id"] for row in rows if row["tag_id"].startswith("category:")}
    assert carriers == {"category:cities": VEX, "category:people": person_called_vex(wiki)}


def test_statements_of_all_types_made_at_once_are_those_that_are_made_for_each_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for most in (reading.MOST_AT_ONCE, 0):
        monkeypatch.setattr(reading, "MOST_AT_ONCE", most)
        wiki = moved_while_a_person_holds_it(tmp_path / f"{most}")
        made.append(
            {
                (table.name, name): [{**row, "batch": ""} for row in read_partition(wiki.lake, table, name)]
                for table in (ENTITY_FACTS, ENTITY_RELATIONS)
                for name in wiki.lake.partitions(table)
            }
        )
    at_once, one_by_one = made
    assert at_once == one_by_one
    assert len([key for key, rows in at_once.items() if rows]) > 2, "several types have statements"


def test_a_page_that_is_no_entity_says_nothing_of_a_gone_page_whose_title_it_has(tmp_path: Path) -> None:
    """The first "Vex" was deleted, but a person promoted it; a person said of the second that it is none."""
    wiki = WikiWithFacts(tmp_path)
    tagged = "[[File:Vex.png|thumb]][[Category:People]]"
    wiki.crawl({"Vex": page("Character", "Vex", "|gender=Male") + tagged, "Vexley": "#REDIRECT [[Vex]]"})
    wiki.resolve()
    assert known_as(wiki) == ["Vex", "Vexley"]
    decided(wiki, "promote", entity_id=VEX)
    wiki.put_pages({"Vex": 9})
    decided(wiki, "classify", source=SOURCE, title="Vex", value="ReferenceMeta")
    wiki.crawl({"Vex": page("Character", "Quorb", "|gender=Female\n|homeworld=[[Thuum]]") + tagged})
    wiki.resolve()
    assert known_as(wiki) == ["Vex"]
    assert [row["state"] for row in wiki.query("from entities where title = 'Vex'")] == ["adjudicated"]
    assert (wiki.facts("Vex"), wiki.relations("Vex")) == ([], [])
    assert wiki.query(f"from lake.entity_tags where entity_id = '{VEX}'") == []
    assert wiki.query("select name, entity_id from file_uses") == [
        {"name": "File:Vex.png", "entity_id": None}
    ]
    assert wiki.resolve() == []


def known_as(wiki: WikiWithFacts) -> list[str]:
    rows = wiki.query(f"from entity_aliases where entity_id = '{VEX}' order by alias")
    return [row["alias"] for row in rows]


def test_a_page_that_moved_while_a_person_holds_its_entity_gives_it_its_names(tmp_path: Path) -> None:
    wiki = moved_while_a_person_holds_it(tmp_path)
    wiki.crawl({"Old town": "#REDIRECT [[Vex (city)]]", "Vexley": "#REDIRECT [[Vex]]"})
    wiki.resolve()
    assert known_as(wiki) == ["Old town", "Vex"]
    assert wiki.resolve() == []


def test_a_redirect_to_a_section_leads_to_no_entity(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    wiki.crawl({"Guilds": page("Organization", "Guilds"), "Guild list": "#REDIRECT [[Guilds]]"})
    wiki.crawl({"Lamplighters": "#REDIRECT [[Guilds#Lamplighters]]"})
    for name, guild in (("Nem", "Lamplighters"), ("Tam", "Guild list")):
        wiki.crawl({name: page("Character", name, f"|affiliation=[[{guild}]]")})
    wiki.resolve()
    ends = {row["to_name"]: row["to_id"] for name in ("Nem", "Tam") for row in wiki.relations(name)}
    assert ends == {"Lamplighters": None, "Guild list": entity_id(SOURCE, "Guilds")}


def test_what_a_model_reads_leads_where_the_newest_revision_links(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    wiki.crawl({"Nem": page("Character", "Nem") + " He lived on [[Varn]]."})
    wiki.crawl({"Nem": page("Character", "Nem") + " He lived on [[Varn (planet)|Varn]]."})
    times = {"start_time": None, "end_time": None, "work_context": None}
    lived = {
        "from_name": "Nem",
        "relation": "lived on",
        "to_name": "Varn",
        "evidence": "He lived on Varn",
        **times,
    }
    wiki.model_says(RELATIONS, "Nem", [lived])
    wiki.resolve()
    assert [row["to_title"] for row in wiki.relations("Nem")] == ["Varn (planet)"]


def test_a_person_who_was_a_member_twice_has_two_relations(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    wiki.crawl({"Vex": page("Character", "Vex")})
    stint = {"from_name": "Vex", "relation": "member of", "to_name": "The Guild", "evidence": "of the Guild"}
    times = [
        ("22 BBY", "19 BBY", None),
        ("4 ABY", "9 ABY", None),
        ("4 ABY", None, None),
        (None, "4 ABY", None),
        (None, "4 ABY", "The Heron's Debt"),
    ]
    columns = ("start_time", "end_time", "work_context")
    wiki.model_says(RELATIONS, "Vex", [{**stint, **dict(zip(columns, row, strict=True))} for row in times])
    wiki.resolve()
    rows = wiki.relations("Vex")
    assert {(row["start_time"], row["end_time"], row["work"]) for row in rows} == set(times)
    assert len({row["relation_id"] for row in rows}) == len(times)


def test_one_number_in_two_units_is_two_facts(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    wiki.crawl({"Vex": page("Character", "Vex")})
    said = {"fact_key": "height", "value": "2", "evidence": "two"}
    wiki.model_says(FACTS, "Vex", [{**said, "unit": unit} for unit in ("metres", "feet", None)])
    wiki.resolve()
    assert {row["unit"] for row in wiki.facts("Vex")} == {"metres", "feet", None}


def test_what_a_list_says_of_two_things_of_one_name_is_two_statements_and_two_questions(
    tmp_path: Path,
) -> None:
    wiki = ListedWiki(tmp_path)
    wiki.crawl(
        {
            "Kettle (droid)": droid("Kettle"),
            "Kettle (person)": page("Character", "Kettle"),
            "List of things": list_of("Kettle", "Kettle"),
        }
    )
    said = {"supported": False, "attributes": [{"name": "gender", "value": "male"}]}
    types = ("Droid", "PersonCharacter")
    wiki.read_lists({"List of things": [named("Kettle", name, **said) for name in types]})
    wiki.resolve()
    facts: list[Row] = [
        row
        for name in types
        for row in read_partition(wiki.lake, ENTITY_FACTS, name)
        if row["method"] == "model"
    ]
    assert [row["entity_type"] for row in facts] == list(types)
    items = {row["item_id"] for row in wiki.query("from lake.review_items where kind = 'statement'")}
    assert items == {f"statement-{row['fact_id']}" for row in facts}
    assert len(items) == 2


def test_a_suppressed_entity_has_no_facts_and_no_relation_leads_to_it(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    wiki.crawl(
        {
            "Vex": page("Character", "Vex", "|gender=Male\n|homeworld=[[Thuum]]"),
            "Nem": page("Character", "Nem", "|masters=[[Vex]]"),
        }
    )
    wiki.resolve()
    assert wiki.facts("Vex")
    decided(wiki, "suppress", entity_id=VEX)
    wiki.resolve()
    assert (wiki.facts("Vex"), wiki.relations("Vex")) == ([], [])
    assert [row["to_id"] for row in wiki.relations("Nem")] == [None]


def test_facts_of_two_follow_when_what_they_were_merged_into_is_merged_too(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    pages = {name: page("Character", name, "|gender=Male") for name in ("Nem", "Vex", "Yol")}
    wiki.crawl(pages)
    wiki.resolve()
    nem, yol = (entity_id(SOURCE, name) for name in ("Nem", "Yol"))
    for merged, into in ((nem, VEX), (VEX, yol)):
        decided(wiki, "merge", entity_id=merged, other_id=into)
        wiki.resolve()
    assert {row["entity_id"] for name in pages for row in wiki.facts(name)} == {yol}


def test_nothing_is_said_of_entities_whose_file_was_damaged_when_no_page_has_their_type(
    tmp_path: Path,
) -> None:
    wiki = WikiWithFacts(tmp_path)
    wiki.crawl({"Vex": page("Character", "Vex", "|gender=Male\n|homeworld=[[Thuum]]")})
    wiki.resolve()
    assert wiki.facts("Vex")
    wiki.lake.file(ENTITIES, "PersonCharacter").unlink()
    wiki.crawl({"Vex": page("Planet", "Vex")})
    wiki.resolve()
    assert (wiki.facts("Vex"), wiki.relations("Vex")) == ([], [])
    assert wiki.resolve() == []
