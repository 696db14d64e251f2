"""Facts and relations of entities: whose, where they lead, disputes, people's word, and rebuilding."""

from hashlib import md5
from pathlib import Path
from typing import Any

import pytest
from listed_wiki import list_of, named
from wiki_with_facts import WikiWithFacts, page, values

from holocron_assets.decisions.log import new_decision, record
from holocron_assets.entities.facts.model_tables import FACTS, RELATIONS
from holocron_assets.lake.files.parquet import read_footer, read_partition
from holocron_assets.lake.tables import ENTITIES, ENTITY_FACTS, ENTITY_RELATIONS

pytestmark = pytest.mark.system

NEM = page("Character", "Nem", "|homeworld=[[Thuum]]\n|gender=Male\n|affiliation=[[Grey Guard]] (44 BBY)")
THUUM = page("Planet", "Thuum", "|region=Outer Drift")
GUARD = page("Organization", "Grey Guard", "|leader=Nem")


@pytest.fixture
def wiki(tmp_path: Path) -> WikiWithFacts:
    with_facts = WikiWithFacts(tmp_path)
    with_facts.crawl({"Nem": NEM, "Thuum": THUUM, "Grey Guard": GUARD})
    return with_facts


def entity_id(wiki: WikiWithFacts, title: str) -> str:
    rows = [
        row
        for name in wiki.lake.partitions(ENTITIES)
        for row in read_partition(wiki.lake, ENTITIES, name)
        if row["title"] == title and row["valid_to"] is None and row["state"] != "suppressed"
    ]
    return str(rows[0]["entity_id"])


def test_a_fact_has_its_entity_its_evidence_and_its_revision(wiki: WikiWithFacts) -> None:
    wiki.resolve()
    [fact] = [row for row in wiki.facts("Nem") if row["fact_key"] == "homeworld"]
    assert fact["entity_id"] == entity_id(wiki, "Nem")
    assert (fact["value"], fact["method"], fact["rule_id"]) == ("Thuum", "infobox", "generic:homeworld")
    assert (fact["status"], fact["supported"], fact["is_disputed"]) == ("stated", True, False)
    assert NEM[fact["evidence_start"] : fact["evidence_end"]] == "[[Thuum]]"
    assert fact["revision_id"] == 1000


def test_a_relation_leads_to_the_entity_that_the_page_links_to(wiki: WikiWithFacts) -> None:
    wiki.resolve()
    [relation] = [row for row in wiki.relations("Nem") if row["relation"] == "affiliated_with"]
    assert (relation["to_id"], relation["to_type"]) == (entity_id(wiki, "Grey Guard"), "Organization")
    assert (relation["start_time"], relation["starts_from"], relation["calendar"]) == (
        "44 BBY",
        -45,
        "galactic",
    )


def test_a_name_without_link_leads_to_the_only_entity_that_goes_by_it(wiki: WikiWithFacts) -> None:
    wiki.resolve()
    [led] = [row for row in wiki.relations("Grey Guard") if row["relation"] == "led_by"]
    [region] = [row for row in wiki.relations("Thuum") if row["relation"] == "in_region"]
    assert led["to_id"] == entity_id(wiki, "Nem")
    assert (region["to_id"], region["to_name"]) == (None, "Outer Drift"), (
        "nobody is called so: the name stays"
    )


def test_a_name_that_several_go_by_leads_to_none_and_the_other_continuity_does_not_count(
    tmp_path: Path,
) -> None:
    wiki = WikiWithFacts(tmp_path)
    wiki.crawl(
        {
            "Grey Guard": GUARD,
            "Nem": page("Character", "Nem"),
            "Nem/Legends": page("Character", "Nem", continuity="leg"),
            "Red Guard": page("Organization", "Red Guard", "|leader=Tam"),
            "Tam (elder)": page("Character", "Tam"),
            "Tam (younger)": page("Character", "Tam"),
        }
    )
    wiki.resolve()
    leaders = {title: wiki.relations(title)[0]["to_id"] for title in ("Grey Guard", "Red Guard")}
    assert leaders == {"Grey Guard": entity_id(wiki, "Nem"), "Red Guard": None}


def test_a_name_without_link_leads_neither_to_the_entity_itself_nor_to_a_type_that_does_not_fit(
    tmp_path: Path,
) -> None:
    wiki = WikiWithFacts(tmp_path)
    guard = page(
        "Organization", "Grey Guard", "|leader=Thuum; Nem\n|headquarters=Nem; Thuum\n|subgroups=Grey Guard"
    )
    wiki.crawl({"Nem": page("Character", "Nem"), "Thuum": THUUM, "Grey Guard": guard})
    wiki.resolve()
    found = {(row["relation"], row["to_name"]): row["to_id"] for row in wiki.relations("Grey Guard")}
    assert found == {
        ("led_by", "Nem"): entity_id(wiki, "Nem"),
        ("led_by", "Thuum"): None,
        ("headquartered_at", "Nem"): None,
        ("headquartered_at", "Thuum"): entity_id(wiki, "Thuum"),
        ("has_part", "Grey Guard"): None,
    }


def test_a_link_leads_where_it_says_whatever_the_type(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    wiki.crawl({"Thuum": THUUM, "Grey Guard": page("Organization", "Grey Guard", "|leader=[[Thuum]]")})
    wiki.resolve()
    assert [row["to_id"] for row in wiki.relations("Grey Guard")] == [entity_id(wiki, "Thuum")]


def test_a_link_to_a_redirect_leads_to_what_the_redirect_leads_to(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    text = page("Character", "Nem", "|affiliation=[[The Guard]]")
    wiki.crawl({"Nem": text, "Grey Guard": GUARD, "The Guard": "#REDIRECT [[Grey Guard]]"})
    wiki.resolve()
    [relation] = wiki.relations("Nem")
    assert (relation["to_title"], relation["to_id"]) == ("The Guard", entity_id(wiki, "Grey Guard"))


def test_two_values_where_only_one_can_be_true_are_disputed_and_both_stay(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    fields = (
        "|gender=*Male\n*Female\n|birth=19 BBY; between 22 and 18 BBY\n|death=4 ABY; 5 ABY\n|hair=Red, grey"
    )
    wiki.crawl({"Nem": page("Character", "Nem", fields)})
    wiki.resolve()
    disputed = {row["fact_key"] for row in wiki.facts("Nem") if row["is_disputed"]}
    assert disputed == {"gender", "died"}, "dates that may be the same are no dispute"
    assert values(wiki.facts("Nem"), "gender") == ["Female", "Male"]


def test_values_are_disputed_whether_or_not_another_entity_is_suppressed(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    wiki.crawl(
        {"Nem": page("Character", "Nem"), "Grey Guard": page("Organization", "Grey Guard", "|gender=Male")}
    )
    said = {"fact_key": "gender", "unit": None, "evidence": "so it is"}
    wiki.model_says(FACTS, "Nem", [{**said, "value": "Male"}, {**said, "value": "Female"}])
    wiki.resolve()
    for row in wiki.facts("Nem"):
        decided(wiki, "accept", statement_id=row["fact_id"])
    decided(wiki, "suppress", entity_id=entity_id(wiki, "Grey Guard"), source="wiki", title="Grey Guard")
    wiki.resolve()
    found = [row["is_disputed"] for row in wiki.facts("Nem")]
    for name in wiki.lake.partitions(ENTITY_FACTS):
        wiki.lake.file(ENTITY_FACTS, name).unlink()
    wiki.resolve()
    assert [row["is_disputed"] for row in wiki.facts("Nem")] == found == [True, True]


def test_what_a_person_rejects_stays_rejected_and_is_no_dispute(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    wiki.crawl({"Nem": page("Character", "Nem", "|gender=*Male\n*Female")})
    wiki.resolve()
    wrong = next(row for row in wiki.facts("Nem") if row["value"] == "Female")
    decision = new_decision("reject", statement_id=wrong["fact_id"], author="Ada", reason="a slip")
    record(wiki.lake, [decision])
    assert "entity_facts PersonCharacter" in wiki.resolve()
    by_value = {row["value"]: row for row in wiki.facts("Nem")}
    assert (by_value["Female"]["status"], by_value["Female"]["decision_id"]) == (
        "rejected",
        decision["decision_id"],
    )
    assert [row["is_disputed"] for row in by_value.values()] == [False, False]


def test_facts_of_a_model_stand_next_to_those_of_the_infobox_under_the_same_key(wiki: WikiWithFacts) -> None:
    wiki.model_says(
        FACTS,
        "Nem",
        [
            {"fact_key": "Home world", "value": "Sallow", "unit": None, "evidence": "of Sallow"},
            {"fact_key": "height", "value": "1.9", "unit": "metres", "evidence": "1.9 metres"},
            {
                "fact_key": "mood",
                "value": "fine",
                "unit": None,
                "evidence": "never said",
                "supported": False,
            },
        ],
    )
    wiki.resolve()
    said = {(row["fact_key"], row["value"]): row for row in wiki.facts("Nem") if row["method"] == "model"}
    assert said["homeworld", "Sallow"]["model"] == "small"
    assert (said["height", "1.9"]["number"], said["height", "1.9"]["unit"]) == (1.9, "metres")
    assert said["mood", "fine"]["status"] == "unsupported"
    assert values(wiki.facts("Nem"), "homeworld") == ["Sallow", "Thuum"]


def test_a_models_relation_starts_at_the_entity_that_it_names_if_there_is_one(wiki: WikiWithFacts) -> None:
    times_and_evidence = {
        "start_time": "19 BBY",
        "end_time": None,
        "work_context": None,
        "evidence": "as the page says",
    }
    wiki.model_says(
        RELATIONS,
        "Nem",
        [
            {**times_and_evidence, "from_name": "nem", "relation": "Belongs to", "to_name": "Grey Guard"},
            {**times_and_evidence, "from_name": "Grey Guard", "relation": "located on", "to_name": "Thuum"},
            {**times_and_evidence, "from_name": "Somebody", "relation": "met", "to_name": "Nem"},
        ],
    )
    wiki.resolve()
    said = {row["relation"]: row for row in wiki.relations("Nem") if row["method"] == "model"}
    assert said.keys() == {"member_of", "located_in"}
    assert said["member_of"]["from_id"] == entity_id(wiki, "Nem")
    assert said["member_of"]["to_id"] == said["located_in"]["from_id"] == entity_id(wiki, "Grey Guard")
    assert said["member_of"]["starts_from"] == -20


def test_what_a_list_says_of_what_it_names_is_said_of_that(wiki: WikiWithFacts) -> None:
    wiki.crawl({"List of persons": list_of("[[Nem]], a sailor", "Bel")})
    attributes = [{"name": "Job", "value": "sailor"}]
    wiki.read_lists({"List of persons": [named("Nem", "PersonCharacter", attributes=attributes)]})
    wiki.resolve()
    [fact] = wiki.facts("List of persons")
    assert (fact["entity_id"], fact["fact_key"], fact["value"]) == (
        entity_id(wiki, "Nem"),
        "occupation",
        "sailor",
    )


def test_all_pages_of_what_was_merged_speak_of_the_survivor(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    wiki.crawl(
        {
            "Nem": page("Character", "Nem", "|hair=Red"),
            "Nemm": page("Character", "Nemm", "|hair=Grey\n|affiliation=[[Grey Guard]]"),
            "Grey Guard": page("Organization", "Grey Guard", "|leader=[[Nemm]]"),
        }
    )
    wiki.resolve()
    kept, gone = entity_id(wiki, "Nem"), entity_id(wiki, "Nemm")
    before = {row["fact_id"] for row in wiki.facts("Nemm")}
    record(
        wiki.lake,
        [
            new_decision(
                "merge",
                source="wiki",
                title="Nemm",
                entity_id=gone,
                other_id=kept,
                other_title="Nem",
                author="Ada",
                reason="one person",
            )
        ],
    )
    wiki.resolve()
    assert {row["entity_id"] for title in ("Nem", "Nemm") for row in wiki.facts(title)} == {kept}
    assert {row["fact_id"] for row in wiki.facts("Nemm")} == before, "a statement keeps its id"
    assert [row["from_id"] for row in wiki.relations("Nemm")] == [kept]
    assert [row["to_id"] for row in wiki.relations("Grey Guard")] == [kept]


def test_nothing_is_stale_twice_and_a_new_text_replaces_what_the_old_one_said(wiki: WikiWithFacts) -> None:
    wiki.resolve()
    assert wiki.resolve() == []
    wiki.crawl({"Nem": page("Character", "Nem", "|homeworld=[[Sallow]]")})
    assert "entity_facts PersonCharacter" in wiki.resolve()
    assert values(wiki.facts("Nem"), "homeworld") == ["Sallow"]


def decided(wiki: WikiWithFacts, kind: str, **about: Any) -> str:
    """Record a decision; give its id."""
    decision = new_decision(kind, **about, author="Ada", reason="checked")
    record(wiki.lake, [decision])
    return str(decision["decision_id"])


def statements_made(wiki: WikiWithFacts) -> list[str]:
    """Make what is stale; give the partitions of statements and tags that were."""
    made = wiki.resolve()
    assert wiki.resolve() == [], "nothing is stale twice"
    return [name for name in made if name.startswith(("entity_facts", "entity_relations", "entity_tags"))]


def test_a_promoted_entity_leaves_all_statements_as_they_are(wiki: WikiWithFacts) -> None:
    wiki.resolve()
    decided(wiki, "promote", entity_id=entity_id(wiki, "Nem"), source="wiki", title="Nem")
    assert statements_made(wiki) == []


def test_a_decision_about_a_statement_makes_only_its_own_table_and_type_anew(wiki: WikiWithFacts) -> None:
    wiki.resolve()
    fact = next(row for row in wiki.facts("Nem") if row["fact_key"] == "gender")
    relation = next(row for row in wiki.relations("Nem") if row["relation"] == "affiliated_with")
    first = decided(wiki, "reject", statement_id=fact["fact_id"])
    assert statements_made(wiki) == ["entity_facts PersonCharacter"]
    decided(wiki, "accept", statement_id=relation["relation_id"])
    assert statements_made(wiki) == ["entity_relations PersonCharacter"]
    assert {row["decision_id"] for row in wiki.facts("Nem")} == {None, first}
    decided(wiki, "undo", undoes=first)
    assert statements_made(wiki) == ["entity_facts PersonCharacter"]
    assert {row["decision_id"] for row in wiki.facts("Nem")} == {None}


def test_what_a_person_decided_about_statements_stays_with_a_page_that_moves(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    text = page("Character", "Vex", "|gender=Male\n|masters=[[Bel]]")
    wiki.crawl({"Vex": text, "Bel": page("Character", "Bel", "|gender=Male")})
    wiki.resolve()
    [fact], [relation], [other] = wiki.facts("Vex"), wiki.relations("Vex"), wiki.facts("Bel")
    decided(wiki, "reject", statement_id=fact["fact_id"])
    decided(wiki, "accept", statement_id=relation["relation_id"])
    wiki.put_pages({"Vex (pilot)": 1, "Vex": 3})
    wiki.crawl({"Vex (pilot)": text, "Vex": text})
    wiki.resolve()
    [moved], [taught] = wiki.facts("Vex (pilot)"), wiki.relations("Vex (pilot)")
    assert (moved["fact_id"], moved["status"]) == (fact["fact_id"], "rejected")
    assert (taught["relation_id"], taught["status"]) == (relation["relation_id"], "accepted")
    assert [row["status"] for row in wiki.facts("Vex")] == ["stated"], "it says the same, but of another"
    assert [row["status"] for row in wiki.relations("Vex")] == ["stated"]
    assert wiki.facts("Bel")[0]["fact_id"] == other["fact_id"]
    assert wiki.resolve() == []


def test_a_page_keeps_the_ids_of_its_statements_through_any_number_of_moves(tmp_path: Path) -> None:
    wiki, ids = WikiWithFacts(tmp_path), set[str]()
    for title in ("Vex", "Vex (pilot)", "Vex (ace)", "Vex"):
        wiki.put_pages({title: 1})
        wiki.crawl({title: page("Character", "Vex", "|gender=Male")})
        wiki.resolve()
        ids.update(row["fact_id"] for row in wiki.facts(title))
    assert ids == {id_of("Vex", "gender", "Male", "", "infobox")}


def test_what_was_decided_under_a_later_title_counts_and_the_newest_decision_wins(tmp_path: Path) -> None:
    """Earlier versions made ids from the title of the day."""
    wiki, text = WikiWithFacts(tmp_path), page("Character", "Vex", "|gender=Male\n|masters=[[Bel]]")
    for title in ("Vex", "Vex (pilot)", "Vex (ace)"):
        wiki.put_pages({title: 1})
        wiki.crawl({title: text, "Bel": page("Character", "Bel")})
    wiki.resolve()
    taught = ("apprentice_of", "Bel", "Bel", "", "infobox")
    decided(wiki, "accept", statement_id=wiki.relations("Vex (ace)")[0]["relation_id"])
    decided(wiki, "reject", statement_id=id_of("Vex (ace)", *taught))
    decided(wiki, "reject", statement_id=id_of("Vex (pilot)", "gender", "Male", "", "infobox"))
    wiki.resolve()
    assert [row["status"] for row in wiki.relations("Vex (ace)")] == ["rejected"]
    assert [row["status"] for row in wiki.facts("Vex (ace)")] == ["rejected"]
    decided(wiki, "accept", statement_id=wiki.facts("Vex (ace)")[0]["fact_id"])
    wiki.put_pages({"Vex (ace)": 1, "Vex (pilot)": 3})
    wiki.crawl({"Vex (pilot)": text})
    decided(wiki, "reject", statement_id=id_of("Vex (pilot)", "gender", "Male", "", "infobox"))
    wiki.resolve()
    assert [row["status"] for row in wiki.facts("Vex (ace)")] == ["accepted"], "the title is another's now"
    assert [row["status"] for row in wiki.facts("Vex (pilot)")] == ["rejected"]
    wiki.put_pages({"Vex (pilot)": 1})
    wiki.crawl({"Vex (pilot)": text})
    wiki.resolve()
    assert [row["status"] for row in wiki.facts("Vex (pilot)")] == ["accepted"], "it was about another"


def id_of(title: str, *said: str) -> str:
    """The id that a statement of a page has, or had in earlier versions when the page was at that title."""
    return md5("\x1f".join(("wiki", title, "", *said)).encode(), usedforsecurity=False).hexdigest()


def test_a_rejected_relation_makes_relations_of_every_type_anew_since_it_verifies_none(
    wiki: WikiWithFacts,
) -> None:
    wiki.resolve()
    [led] = [row for row in wiki.relations("Grey Guard") if row["relation"] == "led_by"]
    of_all = [f"entity_relations {name}" for name in ("PersonCharacter", "LocationPlace", "Organization")]
    rejected = decided(wiki, "reject", statement_id=led["relation_id"])
    assert statements_made(wiki) == of_all
    decided(wiki, "undo", undoes=rejected)
    assert statements_made(wiki) == of_all


def test_a_decision_about_a_statement_that_no_file_has_counts_wherever_it_turns_up(
    wiki: WikiWithFacts,
) -> None:
    wiki.resolve()
    fact = next(row for row in wiki.facts("Nem") if row["fact_key"] == "gender")
    wiki.crawl({"Nem": page("Character", "Nem")})
    wiki.resolve()
    gone = decided(wiki, "reject", statement_id=fact["fact_id"])
    wiki.resolve()
    wiki.crawl({"Nem": NEM})
    assert "entity_facts PersonCharacter" in statements_made(wiki)
    [back] = [row for row in wiki.facts("Nem") if row["fact_id"] == fact["fact_id"]]
    assert (back["status"], back["decision_id"]) == ("rejected", gone)


def test_a_suppressed_entity_takes_its_facts_along_and_relations_of_every_type_lose_it(
    wiki: WikiWithFacts,
) -> None:
    wiki.resolve()
    nem = entity_id(wiki, "Nem")
    decided(wiki, "suppress", entity_id=nem, source="wiki", title="Nem")
    made = statements_made(wiki)
    assert "entity_facts PersonCharacter" in made
    assert "entity_facts LocationPlace" not in made
    assert "entity_relations Organization" in made
    assert wiki.facts("Nem") == []
    [led] = [row for row in wiki.relations("Grey Guard") if row["relation"] == "led_by"]
    assert led["to_id"] is None


def test_a_rebuilt_lake_says_the_same_in_the_same_order(wiki: WikiWithFacts, tmp_path: Path) -> None:
    wiki.resolve()
    again = WikiWithFacts(tmp_path / "again")
    again.crawl({"Nem": NEM, "Thuum": THUUM, "Grey Guard": GUARD})
    again.resolve()
    for table in (ENTITY_FACTS, ENTITY_RELATIONS):
        for name in wiki.lake.partitions(table):
            one, other = (read_footer(each.lake, table, name) for each in (wiki, again))
            assert one is not None
            assert other is not None
            assert one.content_id == other.content_id
