"""What only a model says is proposed: what makes it stated, and what is kept aside."""

from pathlib import Path
from typing import Any

import pytest
from listed_wiki import list_of, named
from wiki_with_facts import WikiWithFacts, page

from holocron_assets.decisions.log import new_decision, record
from holocron_assets.entities.facts import reading, store, vocabulary
from holocron_assets.entities.facts.model_tables import FACTS, RELATIONS, SENTENCES
from holocron_assets.lake.views.database import connect, query

pytestmark = pytest.mark.system

NEM = page("Character", "Nem", "|homeworld=[[Thuum]]\n|affiliation=[[Grey Guard]]")
THUUM = page("Planet", "Thuum", "|moons=[[Little Thuum]]")
GUARD = page("Organization", "Grey Guard", "|leader=[[Tam]]")
TAM = page("Character", "Tam") + " Tam lived on [[Thuum]]."
TEXT = "Nem was a sailor from Thuum. Nem was a captain of the Grey Guard. He served under Tam."


@pytest.fixture
def wiki(tmp_path: Path) -> WikiWithFacts:
    found = WikiWithFacts(tmp_path)
    found.crawl({"Nem": NEM, "Thuum": THUUM, "Tam": TAM})
    found.crawl({"Grey Guard": GUARD})
    return found


def fact(key: str, value: str, evidence: str) -> dict[str, Any]:
    return {"fact_key": key, "value": value, "unit": None, "evidence": evidence}


def relation(key: str, to: str, evidence: str, *, of: str = "Nem") -> dict[str, Any]:
    times = {"start_time": None, "end_time": None, "work_context": None}
    return {"from_name": of, "relation": key, "to_name": to, "evidence": evidence, **times}


def decided(wiki: WikiWithFacts, kind: str, **about: Any) -> str:
    """Record a decision; give its id."""
    decision = new_decision(kind, author="Ann", reason="it is so", **about)
    record(wiki.lake, [decision])
    return str(decision["decision_id"])


def said(wiki: WikiWithFacts, title: str = "Nem") -> dict[tuple[str, str], dict[str, Any]]:
    """Rows of what models say of a page, by key and value."""
    rows = [*wiki.facts(title), *wiki.relations(title)]
    return {
        (row.get("fact_key") or row["relation"], row.get("value") or row["to_name"]): row
        for row in rows
        if row["method"] == "model"
    }


def test_what_only_a_model_says_is_proposed_with_the_checks_that_it_failed(wiki: WikiWithFacts) -> None:
    wiki.model_says(FACTS, "Nem", [fact("job", "sailor", "a sailor from Thuum")])
    wiki.model_says(RELATIONS, "Nem", [relation("taught", "Tam", "He served under Tam")])
    wiki.resolve()
    unchecked = said(wiki)["occupation", "sailor"]
    assert (unchecked["status"], unchecked["failed_checks"]) == ("proposed", None)
    wiki.check("Nem", TEXT)
    assert wiki.resolve(), "checks make facts stale"
    found = said(wiki)
    sailor, taught = found["occupation", "sailor"], found["master_of", "Tam"]
    assert (sailor["status"], sailor["failed_checks"], sailor["verified_by"]) == ("proposed", "", None)
    assert (taught["status"], taught["failed_checks"]) == ("proposed", "pattern")


def test_what_an_infobox_says_too_is_stated_also_if_it_says_it_from_the_other_end(
    wiki: WikiWithFacts,
) -> None:
    wiki.model_says(FACTS, "Nem", [fact("home_world", "thuum", "a sailor from Thuum")])
    told = [relation("led", "Grey Guard", "led the guard"), relation("located in", "Thuum", "on it")]
    wiki.model_says(RELATIONS, "Tam", [{**one, "from_name": "Tam"} for one in told])
    wiki.resolve()
    home = said(wiki)["homeworld", "thuum"]
    assert (home["status"], home["verified_by"]) == ("stated", "infobox")
    of_tam = said(wiki, "Tam")
    assert (of_tam["leads", "Grey Guard"]["status"], of_tam["leads", "Grey Guard"]["verified_by"]) == (
        "stated",
        "infobox",
    )
    assert of_tam["located_in", "Thuum"]["status"] == "proposed"


def test_a_second_page_verifies_only_what_no_check_of_it_speaks_against(wiki: WikiWithFacts) -> None:
    one = relation("served_in", "Grey Guard", "Nem was a captain of the Grey Guard", of="Tam")
    other = relation("has_member", "Tam", "Tam was a captain of the Grey Guard", of="Grey Guard")
    wiki.model_says(RELATIONS, "Nem", [one])
    wiki.model_says(RELATIONS, "Grey Guard", [other])
    wiki.check("Grey Guard", "The Grey Guard sailed.")
    wiki.resolve()
    assert said(wiki)["member_of", "Grey Guard"]["verified_by"] is None, "the other page lacks these words"
    wiki.check("Grey Guard", "The Grey Guard sailed. Tam was a captain of the Grey Guard.")
    wiki.resolve()
    verified = said(wiki)["member_of", "Grey Guard"]
    assert (verified["status"], verified["verified_by"]) == ("stated", "page")


def test_a_page_that_two_sources_read_does_not_verify_itself(tmp_path: Path) -> None:
    one, copy = WikiWithFacts(tmp_path), WikiWithFacts(tmp_path, "copywiki")
    for each in (one, copy):
        each.says_its_language("en")  # with the same address
        each.crawl({"Nem": page("Character", "Nem") + " He taught [[Tam]].", "Tam": TAM})
        each.model_says(FACTS, "Nem", [fact("job", "sailor", "a sailor")])
        each.model_says(RELATIONS, "Nem", [relation("taught", "Tam", "Nem taught Tam")])
        each.check("Nem", "Nem was a sailor. Nem taught Tam.")
    one.resolve()
    found = [*one.facts("Nem"), *one.relations("Nem")]
    assert len({row.get("entity_id") or row["from_id"] for row in found}) == 1, "both pages are one entity"
    assert [(row["status"], row["verified_by"]) for row in found] == [("proposed", None)] * 4
    copy.says_its_language("de")
    assert "entity_facts PersonCharacter" in one.resolve(), "it is another wiki now"
    found = [*one.facts("Nem"), *one.relations("Nem")]
    assert {row["verified_by"] for row in found} == {"page"}


def test_checks_state_a_key_only_where_the_model_was_measured(
    wiki: WikiWithFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust = tmp_path / "trust.yaml"
    trust.write_text("trusted: [{model: small, facts: [occupation]}]\n", encoding="utf-8")
    monkeypatch.setattr(reading, "trusted_keys", lambda: vocabulary.trusted_keys(trust))
    sailor, captain = (
        fact("job", "sailor", "Nem was a sailor from Thuum"),
        fact("rank", "captain", "a captain"),
    )
    wiki.model_says(FACTS, "Nem", [sailor, captain, fact("job", "captain", "He served under Tam")])
    wiki.check("Nem", TEXT)
    wiki.resolve()
    found = said(wiki)
    assert found["occupation", "sailor"]["verified_by"] == "checks"
    assert found["rank", "captain"]["status"] == "proposed", "nobody measured this key"
    assert found["occupation", "captain"]["failed_checks"] == "other"


def test_what_a_sentence_says_is_stated_where_that_was_measured_and_verifies_a_model(
    wiki: WikiWithFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thuum = {"kind": "relation", "other": "Thuum", "to_title": "Thuum", "evidence": "Tam lived on Thuum."}
    green = {"kind": "fact", "other": "green", "to_title": "", "evidence": "Tam had green eyes."}
    rows = [{**thuum, "key": "lives_in"}, {**thuum, "key": "leads"}, {**green, "key": "eye_color"}]
    wiki.model_says(SENTENCES, "Tam", rows)
    wiki.model_says(RELATIONS, "Tam", [relation("resided in", "Thuum", "Tam lived", of="Tam")])
    wiki.model_says(FACTS, "Tam", [fact("eyes", "Green", "green eyes")])
    wiki.resolve()
    rows = [*wiki.relations("Tam"), *wiki.facts("Tam")]
    assert {row["status"] for row in rows} == {"proposed"}, "nobody measured it"
    trust = tmp_path / "trust.yaml"
    trust.write_text(
        "trusted: [{model: sentence, relations: [lives_in], facts: [eye_color]}]\n", encoding="utf-8"
    )
    monkeypatch.setattr(reading, "trusted_keys", lambda: vocabulary.trusted_keys(trust))
    monkeypatch.setattr(store, "FACTS_VERSION", "with trust")
    wiki.resolve()
    by_method = {(row["method"], row["relation"]): row for row in wiki.relations("Tam")}
    assert by_method["sentence", "lives_in"]["verified_by"] == "checks"
    assert by_method["model", "lives_in"]["verified_by"] == "sentence"
    assert by_method["sentence", "leads"]["status"] == "proposed"
    facts = {(row["method"], row["value"]): row["verified_by"] for row in wiki.facts("Tam")}
    assert facts == {("sentence", "green"): "checks", ("model", "Green"): "sentence"}


def test_types_that_do_not_fit_and_ends_that_nobody_knows_fail_a_check(wiki: WikiWithFacts) -> None:
    captain = "Nem was a captain of the Grey Guard"
    wiki.model_says(
        RELATIONS, "Nem", [relation("served_in", "Thuum", captain), relation("served_in", "Guards", captain)]
    )
    wiki.model_says(FACTS, "Nem", [fact("climate", "captain", captain)])
    wiki.check("Nem", TEXT)
    wiki.resolve()
    found = said(wiki)
    assert found["member_of", "Thuum"]["failed_checks"] == "other, types"
    assert found["member_of", "Guards"]["failed_checks"] == "other, unknown"
    assert "types" in found["climate", "captain"]["failed_checks"]


def test_what_the_infobox_of_another_type_says_is_proposed_and_verifies_nothing(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    fields = "|stars=[[Thuum]]\n|system=[[Thuum]]\n|affiliation=[[Grey Guard]]"
    wiki.crawl(
        {
            "Nem": page("Character", "Nem", fields),
            "Thuum": THUUM,
            "Sallow": page("Planet", "Sallow", "|suns=[[Thuum]]\n|system=[[Thuum]]"),
        }
    )
    wiki.crawl({"Grey Guard": page("Organization", "Grey Guard", "|species=[[Tchaan]]")})
    wiki.model_says(RELATIONS, "Nem", [relation("located_in", "Thuum", "so it is")])
    wiki.resolve()
    rows = [row for title in ("Nem", "Sallow", "Grey Guard") for row in wiki.relations(title)]
    assert {(row["title"], row["relation"]): (row["status"], row["failed_checks"]) for row in rows} == {
        ("Nem", "sun"): ("proposed", "types"),
        ("Nem", "in_system"): ("proposed", "types"),
        ("Nem", "affiliated_with"): ("stated", None),
        ("Nem", "located_in"): ("proposed", None),
        ("Sallow", "sun"): ("stated", None),
        ("Sallow", "in_system"): ("stated", None),
        ("Grey Guard", "of_species"): ("stated", None),
    }
    sun = next(row for row in rows if row["title"] == "Nem" and row["relation"] == "sun")
    decided(wiki, "accept", statement_id=sun["relation_id"])
    wiki.resolve()
    assert [row["status"] for row in wiki.relations("Nem") if row["relation"] == "sun"] == ["accepted"]


def test_words_that_the_vocabulary_lacks_are_kept_aside_and_counted(wiki: WikiWithFacts) -> None:
    words = [fact("steal", "steal", "He served"), fact("steal", "boats", "He served")]
    wiki.model_says(FACTS, "Nem", words)
    wiki.model_says(RELATIONS, "Nem", [relation("influenced", "Tam", "He served under Tam")])
    wiki.resolve()
    assert {row["status"] for row in said(wiki).values()} == {"unmapped"}
    with connect(wiki.lake) as connection:
        counted = query(connection, "select kind, said_key, statements, pages from unmapped_keys")
        assert [tuple(row.values()) for row in counted] == [
            ("fact", "steal", 2, 1),
            ("relation", "influenced", 1, 1),
        ]
        [proposed] = query(connection, "select count(*) as n from entity_facts where method = 'model'")
        [every] = query(connection, "select count(*) as n from all_entity_facts where method = 'model'")
    assert (proposed["n"], every["n"]) == (0, 2), "a view shows only what is stated"


def test_one_statement_in_other_letters_is_one_and_a_time_that_is_no_date_is_left_out(
    wiki: WikiWithFacts,
) -> None:
    late = {**relation("served_in", "the Grey Guard", "Nem was a captain"), "start_time": "when he was young"}
    wiki.model_says(RELATIONS, "Nem", [relation("served_in", "Grey Guard", "Nem was a captain"), late])
    wiki.model_says(FACTS, "Nem", [fact("job", "Sailor", "a sailor"), fact("job", "sailor", "a sailor from")])
    wiki.resolve()
    assert len(wiki.facts("Nem")) == 1 + len([row for row in wiki.facts("Nem") if row["method"] == "infobox"])
    [times] = {row["start_time"] for row in wiki.relations("Nem") if row["method"] == "model"}
    assert times is None


def test_a_name_that_computers_read_as_a_number_has_none(wiki: WikiWithFacts) -> None:
    numbers = {"Infinity": None, "Nan": None, "-inf": None, "9" * 400: None, "1,234.5": 1234.5}
    wiki.model_says(FACTS, "Nem", [fact("height", value, "so it is") for value in numbers])
    wiki.resolve()
    assert {value: said(wiki)["height", value]["number"] for value in numbers} == numbers


def test_a_person_accepts_what_is_proposed(wiki: WikiWithFacts) -> None:
    wiki.model_says(FACTS, "Nem", [fact("job", "sailor", "a sailor from Thuum")])
    wiki.resolve()
    name = said(wiki)["occupation", "sailor"]["fact_id"]
    decided(wiki, "accept", statement_id=name)
    wiki.resolve()
    assert said(wiki)["occupation", "sailor"]["status"] == "accepted"


def test_a_fact_of_an_infobox_that_a_person_rejects_verifies_nothing(wiki: WikiWithFacts) -> None:
    wiki.model_says(FACTS, "Nem", [fact("home_world", "thuum", "a sailor from Thuum")])
    wiki.resolve()
    assert said(wiki)["homeworld", "thuum"]["verified_by"] == "infobox"
    [stated] = [row for row in wiki.facts("Nem") if row["value"] == "Thuum"]
    rejected = decided(wiki, "reject", statement_id=stated["fact_id"])
    wiki.resolve()
    home = said(wiki)["homeworld", "thuum"]
    assert (home["status"], home["verified_by"]) == ("proposed", None)
    decided(wiki, "undo", undoes=rejected)
    wiki.resolve()
    assert said(wiki)["homeworld", "thuum"]["status"] == "stated"


def test_a_fact_that_a_person_rejects_verifies_no_other_pages_in_any_letters(wiki: WikiWithFacts) -> None:
    wiki.crawl({"List of sailors": list_of("[[Nem]], a sailor")})
    job = {"attributes": [{"name": "Job", "value": "sailor"}]}
    wiki.read_lists({"List of sailors": [named("Nem", "PersonCharacter", **job)]})
    wiki.model_says(FACTS, "Nem", [fact("job", word, "Nem was a sailor") for word in ("Sailor", "sailor")])
    wiki.check("Nem", TEXT)
    wiki.resolve()
    [listed] = wiki.facts("List of sailors")
    assert (listed["status"], listed["verified_by"]) == ("stated", "page")
    [shown] = [row for row in wiki.facts("Nem") if row["fact_key"] == "occupation"]
    decided(wiki, "reject", statement_id=shown["fact_id"])
    wiki.resolve()
    [listed] = wiki.facts("List of sailors")
    assert (listed["status"], listed["verified_by"]) == ("proposed", None)


def test_a_relation_that_a_person_rejects_verifies_nothing_from_the_other_end(wiki: WikiWithFacts) -> None:
    wiki.model_says(RELATIONS, "Tam", [relation("led", "Grey Guard", "led the guard", of="Tam")])
    wiki.resolve()
    assert said(wiki, "Tam")["leads", "Grey Guard"]["verified_by"] == "infobox"
    [stated] = wiki.relations("Grey Guard")
    rejected = decided(wiki, "reject", statement_id=stated["relation_id"])
    wiki.resolve()
    led = said(wiki, "Tam")["leads", "Grey Guard"]
    assert (led["status"], led["verified_by"]) == ("proposed", None)
    assert wiki.resolve() == []
    decided(wiki, "undo", undoes=rejected)
    wiki.resolve()
    assert said(wiki, "Tam")["leads", "Grey Guard"]["status"] == "stated"
