import unicodedata
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from holocron_assets.entities.identity.identity import entity_id, holders_of, match_entities, new_ids
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row

START = datetime(2026, 3, 1, tzinfo=UTC)


def page(title: str, page_id: int | None = None, **changes: Any) -> Row:
    return {
        "source": "sample",
        "title": title,
        "title_key": title_key("sample", title),
        "page_id": page_id,
        "name": "Varn",
        "continuity": "legends",
        "origin": "page",
        **changes,
    }


def entity(row: Row, identifier: str = "id-1", state: str = "promoted") -> Row:
    return {"entity_type": "Species", **row, "entity_id": identifier, "state": state, "valid_from": START}


def test_a_page_that_was_moved_before_it_was_retyped_keeps_its_id() -> None:
    held = entity(page("Varnite", 4), "id-7")
    assert new_ids([page("Varnite", 4)], frozenset(), [holders_of([held])]) == {
        page("Varnite")["title_key"]: "id-7"
    }


def test_of_several_ids_in_other_types_a_page_keeps_the_one_that_stands() -> None:
    standing, older = entity(page("Varn", 4), "id-7"), entity(page("Varn", 4), "id-1", "suppressed")
    for rows in ([standing, older], [older, standing]):
        assert new_ids([page("Varn", 4)], frozenset(), [holders_of(rows)]) == {
            page("Varn")["title_key"]: "id-7"
        }


def test_what_a_list_names_is_the_page_of_that_title_once_there_is_one() -> None:
    named = entity(page("Varn", origin="mention", continuity="canon"))
    created = page("Varn", 4, continuity="legends")
    assert match_entities([created], [named]) == {created["title_key"]: named}
    deleted, left = page("Varn", origin="mention", continuity="canon"), entity(page("Varn", 4))
    assert match_entities([deleted], [left]) == {deleted["title_key"]: left}


def test_what_a_list_names_takes_no_place_of_another_title() -> None:
    left = entity(page("Varn (Legends)", 4), state="suppressed")
    assert match_entities([page("Varn", origin="mention")], [left]) == {}
    assert match_entities([page("Varn", 4)], [entity(page("Varn (Legends)", origin="mention"))]) == {}


def test_an_id_is_the_same_for_ever() -> None:
    assert entity_id("sample", "Varn/Legends") == "3b5845e9-7853-54e8-9fc0-cbc3463646cd"
    assert uuid.UUID(entity_id("sample", "Varn")).version == 5


def test_composed_and_decomposed_titles_are_one() -> None:
    decomposed = unicodedata.normalize("NFD", "Padmé")
    assert decomposed != "Padmé"
    assert entity_id("sample", decomposed) == entity_id("sample", "Padmé")


def test_no_separator_in_a_title_can_imitate_another_identity() -> None:
    assert entity_id("a", 'b", "c') != entity_id("a", "b", "c")
    assert entity_id("a", "b\x1fc") != entity_id("a\x1fb", "c")


def test_titles_that_are_no_valid_unicode_have_ids_too() -> None:
    assert entity_id("sample", "\ud800") != entity_id("sample", "\ud801")


def test_case_twins_are_two() -> None:
    assert entity_id("sample", "Varn") != entity_id("sample", "VARN")


def test_two_titles_of_one_name_and_continuity_have_ids_of_their_own() -> None:
    suffix, subpage = page("Varn (Legends)"), page("Varn/Legends")
    ids = new_ids([subpage, suffix], frozenset())
    assert ids == new_ids([suffix], frozenset()) | new_ids([subpage], frozenset())
    assert len(set(ids.values())) == 2


def test_an_id_does_not_depend_on_what_is_read_off_the_page() -> None:
    better_read = page("Varn", 4, name="Varns", continuity="canon")
    assert new_ids([page("Varn")], frozenset()) == new_ids([better_read], frozenset())


def test_an_id_that_is_taken_is_never_given_again() -> None:
    varn = page("Varn/Legends")
    taken: set[str] = set()
    for _ in range(4):
        (identifier,) = new_ids([varn], taken).values()
        assert identifier not in taken
        taken.add(identifier)
    assert len(taken) == 4


def test_a_page_that_was_retyped_gets_the_id_that_it_has_in_its_old_type() -> None:
    held = entity(page("Varn", 4), entity_id("sample", "Varn"))
    assert new_ids([page("Varn", 4)], frozenset(), [holders_of([held])]) == {
        page("Varn")["title_key"]: held["entity_id"]
    }


def test_an_id_that_a_page_took_to_another_title_and_type_goes_to_no_other_page() -> None:
    moved = entity(page("Varnite", 4), entity_id("sample", "Varn"), "suppressed")
    (identifier,) = new_ids([page("Varn", 5)], frozenset(), [holders_of([moved])]).values()
    assert identifier == entity_id("sample", "Varn", "2")


def test_the_id_of_a_deleted_page_goes_to_no_page_of_another_type_that_is_made_under_its_title() -> None:
    deleted = entity(page("Varn", 4), entity_id("sample", "Varn"), "suppressed")
    (identifier,) = new_ids([page("Varn", 5)], frozenset(), [holders_of([deleted])]).values()
    assert identifier == entity_id("sample", "Varn", "2")


def test_a_page_whose_id_is_not_known_is_known_by_its_title() -> None:
    identifier = entity_id("sample", "Varn")
    for known, title, expected in ((4, "Varn", True), (None, "Varn", True), (None, "Varnite", False)):
        (found,) = new_ids(
            [page("Varn")], frozenset(), [holders_of([entity(page(title, known), identifier)])]
        ).values()
        assert (found == identifier) is expected


def test_a_page_that_takes_the_title_of_a_retyped_page_does_not_get_its_entity() -> None:
    left_behind = entity(page("Varn", 4), state="suppressed")
    retyped = entity(page("Varnite", 4))
    newcomer = page("Varn", 5)
    assert match_entities([newcomer], [left_behind]) == {newcomer["title_key"]: left_behind}
    assert match_entities([newcomer], [left_behind], [holders_of([retyped])]) == {}


def test_a_page_that_is_typed_back_gets_its_entity_back() -> None:
    left_behind, retyped = entity(page("Varn", 4), state="suppressed"), entity(page("Varn", 4))
    renamed = page("Varnite", 4)
    assert match_entities([renamed], [left_behind], [holders_of([retyped])]) == {
        renamed["title_key"]: left_behind
    }


def test_what_another_type_gave_up_hinders_nobody() -> None:
    left_behind = entity(page("Varn", 4), state="suppressed")
    recreated = page("Varn", 5)
    matched = match_entities([recreated], [left_behind], [holders_of([left_behind])])
    assert matched == {recreated["title_key"]: left_behind}


def test_a_new_page_at_the_title_of_a_page_that_was_retyped_and_deleted_gets_no_former_entity() -> None:
    left_behind = entity(page("Varn", 4), state="suppressed")
    retyped = {**entity(page("Varn", 4), state="suppressed"), "valid_from": START + timedelta(days=1)}
    newcomer = page("Varn", 5)
    assert match_entities([newcomer], [left_behind], [holders_of([retyped])]) == {}
    assert match_entities([newcomer], [retyped], [holders_of([left_behind])]) == {
        newcomer["title_key"]: retyped
    }


def test_a_page_that_was_retyped_keeps_its_id_where_one_of_its_title_is_gone() -> None:
    gone, retyped = entity(page("Varn", 4), state="suppressed"), entity(page("Varn", 5), "id-2")
    elsewhere, recreated = [holders_of([retyped])], page("Varn", 5)
    assert match_entities([recreated], [gone], elsewhere) == {}
    assert new_ids([recreated], {"id-1"}, elsewhere) == {recreated["title_key"]: "id-2"}


def test_a_page_that_took_an_id_over_and_is_typed_back_keeps_it() -> None:
    left_behind, retyped = entity(page("Varn", 4), state="suppressed"), entity(page("Varn", 5))
    others, recreated = entity(page("Varn", 6), "id-0", "suppressed"), page("Varn", 5)
    matched = match_entities([recreated], [others, left_behind], [holders_of([retyped])])
    assert matched == {recreated["title_key"]: left_behind}
