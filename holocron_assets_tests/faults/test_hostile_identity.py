"""Pages that try to be taken for another: they get nothing of it, and it loses nothing to them."""

from pathlib import Path

import pytest
from hostile_wiki import lake_of, page_xml
from sample_holocron import Holocron

from holocron_assets.lake.views.database import connect, query

pytestmark = pytest.mark.system

TEXT = (
    "{{{{Character|name={name}|species=[[Human]]|homeworld=[[Dust]]|gender=Female{more}}}}}\n"
    "'''{name}''' was a female human pilot of [[Dust]]. She flew with [[Issa Dorrane]]."
)
VICTIM = page_xml("Vael Orrin", 1, text=TEXT.format(name="Vael Orrin", more=""))
COPY = TEXT.format(name="Vael Orrin", more="|alias=Vael Orrin|other names=Vael Orrin")
IMPOSTORS = (
    "VAEL ORRIN",
    "Vael\u200b Orrin",  # a space of no width
    "V\u0430el Orrin",  # a Cyrillic letter
    "\uff36ael Orrin",  # a wide letter
    "Va\u00e9l Orrin",
    "Vael Orrinn",
    "Vael Orrin (pilot)",
    "Somebody else",
)
LIAR = page_xml(
    "Liar", 90, text=TEXT.format(name="Liar", more="|alias=Vael Orrin") + "\n[[Vael Orrin]] was a male droid."
)
REDIRECT = page_xml("The true Vael", 91, text="#REDIRECT [[Vael Orrin]]")


def held_of_victim(holocron: Holocron) -> dict[str, list[dict[str, object]]]:
    """What Holocron holds of the page that others want to be."""
    asked = {
        "entities": "select title, entity_id, name, entity_type, state, review_reason from entities",
        "facts": """
            select entities.title, fact_key, value, facts.title as said_on
            from entity_facts as facts join entities using (entity_id)
        """,
        "relations": """
            select entities.title, relation, to_title, relations.title as said_on
            from entity_relations as relations join entities on entity_id = from_id
        """,
    }
    with connect(holocron.lake) as connection:
        return {
            name: query(connection, f"from ({sql}) where title = 'Vael Orrin' order by all")
            for name, sql in asked.items()
        }


def names_of(holocron: Holocron) -> set[tuple[str, str, str]]:
    """The names that entities go by: title, name, and the page that says so."""
    sql = """
        select entities.title, alias, from_title
        from entity_aliases as aliases join entities using (entity_id)
    """
    with connect(holocron.lake) as connection:
        return {(row["title"], row["alias"], row["from_title"]) for row in query(connection, sql)}


@pytest.mark.fault(6, "pages whose title, infobox, lead and other names are those of another page")
def test_no_page_is_merged_into_another_or_takes_anything_of_it(tmp_path: Path) -> None:
    (tmp_path / "clean").mkdir()
    (tmp_path / "hostile").mkdir()
    impostors = "".join(page_xml(title, number, text=COPY) for number, title in enumerate(IMPOSTORS, 10))
    clean = lake_of(tmp_path / "clean", VICTIM)
    hostile = lake_of(tmp_path / "hostile", VICTIM + impostors + LIAR + REDIRECT)
    expected = held_of_victim(clean)
    assert [entity["state"] for entity in expected["entities"]] == ["promoted"]
    assert expected["facts"]
    assert expected["relations"]
    # it keeps its id, state, name and facts, and nothing is said of it that another page says
    assert held_of_victim(hostile) == expected
    with connect(hostile.lake) as connection:
        entities = query(connection, "select title, entity_id, state, merged_into from entities")
        followed = query(
            connection, "select judged_by, reason from entity_judgements where judgement = 'same'"
        )
    assert {entity["title"] for entity in entities} == {*IMPOSTORS, "Vael Orrin", "Liar"}
    assert len({entity["entity_id"] for entity in entities}) == len(entities)
    assert [entity["title"] for entity in entities if entity["merged_into"]] == []
    assert followed == []
    # of its names it lost none, and gained only what leads to it on the wiki itself
    of_victim = {name for name in names_of(hostile) if name[0] == "Vael Orrin"}
    assert of_victim == {
        ("Vael Orrin", "Vael Orrin", "Vael Orrin"),
        ("Vael Orrin", "The true Vael", "The true Vael"),
    }
