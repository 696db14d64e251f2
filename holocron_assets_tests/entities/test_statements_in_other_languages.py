"""What models say of pages in other languages: by letters of any script, and by the words of the wiki."""

import sys
from pathlib import Path
from typing import Any
from unicodedata import category

import pyarrow as pa
import pytest
from wiki_with_facts import WikiWithFacts, page

from holocron_assets.decisions.log import new_decision, record
from holocron_assets.entities.facts.checks import plain_key
from holocron_assets.entities.facts.model_tables import FACTS, RELATIONS
from holocron_assets.entities.facts.reading import read_statements
from holocron_assets.entities.snapshot import open_snapshot
from holocron_assets.lake.views.database import query

pytestmark = pytest.mark.system


def fact(key: str, value: str) -> dict[str, Any]:
    return {"fact_key": key, "value": value, "unit": None, "evidence": "so it is"}


def relation(key: str, to: str, *, of: str) -> dict[str, Any]:
    times = {"start_time": None, "end_time": None, "work_context": None}
    return {"from_name": of, "relation": key, "to_name": to, "evidence": "so it is", **times}


def said(wiki: WikiWithFacts, title: str) -> dict[str, dict[str, Any]]:
    """The facts that models say of a page, by value."""
    return {row["value"]: row for row in wiki.facts(title) if row["method"] == "model"}


def test_an_infobox_verifies_the_value_that_it_says_and_no_other_of_its_script(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    wiki.crawl({"Нем": page("Character", "Нем", "|gender=мужской\n|species=[[Итулан]]")})
    wiki.model_says(FACTS, "Нем", [fact("gender", "женский"), fact("species", "итулан")])
    wiki.resolve()
    found = {value: (row["status"], row["verified_by"]) for value, row in said(wiki, "Нем").items()}
    assert found == {"женский": ("proposed", None), "итулан": ("stated", "infobox")}


@pytest.mark.parametrize(
    "values", [("моряк", "капитан"), ("水手", "船長"), ("नाविक", "कप्तान"), ("Bär", "Bör")]
)
def test_two_values_in_letters_of_any_script_are_two(tmp_path: Path, values: tuple[str, str]) -> None:
    wiki = WikiWithFacts(tmp_path)
    wiki.crawl({"Nem": page("Character", "Nem")})
    wiki.model_says(FACTS, "Nem", [fact("occupation", value) for value in values])
    wiki.resolve()
    assert sorted(said(wiki, "Nem")) == sorted(values)


def test_a_key_and_a_name_in_letters_of_another_script_are_kept_and_found(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    text = page("Character", "Нем") + " Смотри [[Стража]] и [[Орден (древний)]]."
    wiki.crawl({"Нем": text})
    wiki.model_says(FACTS, "Нем", [fact("Любимый цвет", "синий")])
    ends = [relation("member_of", name, of="Нем") for name in ("стража", "Орден", "Гильдия")]
    wiki.model_says(RELATIONS, "Нем", ends)
    wiki.resolve()
    assert said(wiki, "Нем")["синий"]["fact_key"] == "любимый_цвет"
    linked = {row["to_name"]: row["to_title"] for row in wiki.relations("Нем")}
    assert linked == {"стража": "Стража", "Орден": "Орден (древний)", "Гильдия": None}


def test_python_and_sql_make_the_same_key_of_every_character(tmp_path: Path) -> None:
    """SQL may know a later version of Unicode, so characters that Python does not know are left out."""
    known = [one for one in map(chr, range(1, sys.maxunicode + 1)) if category(one) not in {"Cn", "Cs"}]
    asked = [*(f"Key{one}Two" for one in known), "ΟΔΟΣ", "Любимый  Цвет!", "_a-B_", "İstanbul", "..."]
    with open_snapshot(WikiWithFacts(tmp_path).lake) as snapshot:
        read_statements(snapshot)
        snapshot.connection.register("asked", pa.table({"word": asked}))
        rows = query(snapshot.connection, "select word, plain_key(word) as key from asked")
    differ = [(row["word"], row["key"]) for row in rows if plain_key(row["word"]) != row["key"]]
    assert (len(rows), differ) == (len(asked), [])


def test_dates_and_numbers_that_models_say_are_read_by_the_wikis_language(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    wiki.says_its_language("es")
    wiki.crawl({"Nem": page("Character", "Nem", "|born=19 ABY")})
    figures = {"3,5": 3.5, "1.250": 1250, "12 500,5": 12500.5, "0.125": 0.125, "1,234.5": None}
    wiki.model_says(FACTS, "Nem", [fact("born", "19 ABY"), *(fact("height", one) for one in figures)])
    time = {**relation("member_of", "Guardia", of="Nem"), "start_time": "3 ABY", "end_time": "4 DBY"}
    wiki.model_says(RELATIONS, "Nem", [time])
    wiki.resolve()
    found = said(wiki, "Nem")
    assert {value: found[value]["number"] for value in figures} == figures
    assert (found["19 ABY"]["date_from"], found["19 ABY"]["date_to"]) == (-20, -19)
    assert not any(row["is_disputed"] for row in wiki.facts("Nem")), "the infobox says the same"
    [guard] = wiki.relations("Nem")
    assert (guard["starts_from"], guard["ends_to"]) == (-4, 5)


def test_a_wiki_that_says_another_language_makes_its_statements_again(tmp_path: Path) -> None:
    wiki = WikiWithFacts(tmp_path)
    wiki.crawl({"Nem": page("Character", "Nem")})
    wiki.model_says(FACTS, "Nem", [fact("born", "19 ABY"), fact("height", "3,500")])
    wiki.resolve()
    before = said(wiki, "Nem")
    assert (before["19 ABY"]["date_from"], before["3,500"]["number"]) == (19, 3500)
    wiki.says_its_language("es")
    assert {"entity_facts PersonCharacter", "entity_relations PersonCharacter"} <= set(wiki.resolve())
    assert wiki.resolve() == []
    after = said(wiki, "Nem")
    assert (after["19 ABY"]["date_from"], after["3,500"]["number"]) == (-20, 3.5)


def test_of_two_languages_dates_are_compared_and_not_words(tmp_path: Path) -> None:
    english, german = WikiWithFacts(tmp_path), WikiWithFacts(tmp_path, "dewiki")
    english.says_its_language("en")
    german.says_its_language("de")
    german.crawl({"Nem": page("Character", "Nem", "|geschlecht=männlich\n|geburt=19 VSY\n|tod=5 NSY")})
    text = page("Character", "Nem", "|gender=Male\n|birth=19 BBY\n|death=4 ABY")
    english.crawl({"Nem": text})
    english.resolve()
    one, other = (row["entity_id"] for row in english.query("select entity_id from entities"))
    merge = new_decision("merge", entity_id=one, other_id=other, author="Ada", reason="they are one")
    record(english.lake, [merge])
    english.resolve()
    rows = english.query("select fact_key, value, is_disputed from entity_facts order by fact_key, value")
    assert [tuple(row.values()) for row in rows] == [
        ("born", "19 BBY", False),
        ("born", "19 VSY", False),
        ("died", "4 ABY", True),
        ("died", "5 NSY", True),
        ("gender", "Male", False),
        ("gender", "männlich", False),
    ]
    english.crawl({"Nem": text.replace("|gender=Male", "|gender=*Male\n*Female")})
    english.resolve()
    disputed = english.query("select value from entity_facts where fact_key = 'gender' and is_disputed")
    assert sorted(row["value"] for row in disputed) == ["Female", "Male"]
