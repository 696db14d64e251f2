"""An entity whose page changes type goes to the other type within one run, whichever is resolved first."""

from pathlib import Path

import pytest
from listed_wiki import droid
from wiki_with_facts import WikiWithFacts, page

from holocron_assets.classify.decided_types import decide_type
from holocron_assets.entities.deciding import decide_state
from holocron_assets.entities.departures import store_departures
from holocron_assets.entities.snapshot import open_snapshot
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.tables import ENTITY_DEPARTURES

PERSON, DROID = page("Character", "Varn"), droid("Varn")
LESS_SURE_DROID = "{{Top|can}}\n'''Varn''' was an astromech droid.\n\n[[Category:Droids]]"


def resolved(folder: Path, text: str) -> WikiWithFacts:
    wiki = WikiWithFacts(folder)
    wiki.crawl({"Varn": text})
    wiki.resolve()
    return wiki


def standing(wiki: WikiWithFacts) -> dict[str, str]:
    """Id by type, of what is not suppressed."""
    rows = wiki.query("select entity_type, entity_id from entities where state <> 'suppressed'")
    return {row["entity_type"]: row["entity_id"] for row in rows}


@pytest.mark.system
@pytest.mark.parametrize(
    ("before", "after", "names"),
    [(PERSON, DROID, ("PersonCharacter", "Droid")), (DROID, PERSON, ("Droid", "PersonCharacter"))],
    ids=["to a type before", "to a type after"],
)
def test_a_page_of_another_type_takes_its_id_along_in_one_run(
    tmp_path: Path, before: str, after: str, names: tuple[str, str]
) -> None:
    wiki = resolved(tmp_path, before)
    [(first, entity_id)] = standing(wiki).items()
    wiki.crawl({"Varn": after})
    wiki.resolve()
    assert (first, standing(wiki)) == (names[0], {names[1]: entity_id})
    assert wiki.resolve() == [], "one run was enough"


@pytest.mark.system
def test_the_type_that_an_entity_leaves_says_where_it_goes(tmp_path: Path) -> None:
    wiki = resolved(tmp_path, PERSON)
    assert read_partition(wiki.lake, ENTITY_DEPARTURES, "PersonCharacter") == []
    [entity_id] = standing(wiki).values()
    wiki.crawl({"Varn": DROID})
    wiki.resolve()
    [row] = read_partition(wiki.lake, ENTITY_DEPARTURES, "PersonCharacter")
    assert (row["entity_id"], row["title"], row["to_type"]) == (entity_id, "Varn", "Droid")


@pytest.mark.system
def test_an_entity_in_dispute_leaves_only_once_a_person_suppresses_it(tmp_path: Path) -> None:
    wiki = resolved(tmp_path, PERSON)
    wiki.crawl({"Varn": LESS_SURE_DROID})
    wiki.resolve()
    [(kept, entity_id)] = standing(wiki).items()
    assert kept == "PersonCharacter", "the rules are less sure of a droid"
    decide_state(wiki.lake, "suppress", entity_id=entity_id, author="Mira", reason="no person")
    wiki.resolve()
    assert "PersonCharacter" not in standing(wiki)
    [row] = read_partition(wiki.lake, ENTITY_DEPARTURES, "PersonCharacter")
    assert row["to_type"] == "Droid"
    assert wiki.resolve() == [], "one run was enough"


@pytest.mark.system
@pytest.mark.parametrize("is_resolved_between", [False, True], ids=["at once", "one after the other"])
def test_an_entity_that_a_person_promoted_leaves_with_its_id_when_a_person_types_its_page(
    tmp_path: Path, *, is_resolved_between: bool
) -> None:
    wiki = resolved(tmp_path, PERSON)
    [entity_id] = standing(wiki).values()
    decide_state(wiki.lake, "promote", entity_id=entity_id, author="Mira", reason="it is known")
    if is_resolved_between:
        wiki.resolve()
    decide_type(wiki.lake, source="wiki", title="Varn", type_name="Droid", author="Mira", reason="no person")
    wiki.settle()
    wiki.resolve()
    assert standing(wiki) == {"Droid": entity_id}
    held = wiki.query(
        "select entity_type, state from lake.entities where valid_to is null and state <> 'suppressed'"
    )
    assert held == [{"entity_type": "Droid", "state": "adjudicated"}], "no other type's file holds it"
    assert wiki.resolve() == [], "one run was enough"


def test_no_entity_is_read_for_departures_while_its_page_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki = resolved(tmp_path, PERSON)
    with open_snapshot(wiki.lake) as snapshot:
        monkeypatch.setattr(snapshot, "standing_rows", pytest.fail)
        assert store_departures(snapshot, "PersonCharacter", "run-1")[1] == []
