import unicodedata
import uuid

from holocron_assets.lake.keys import title_key
from holocron_assets.lake.schema import Row
from holocron_assets.resolve.identity import entity_id, new_ids


def page(title: str, name: str = "Varn", continuity: str = "legends") -> Row:
    return {
        "source": "sample",
        "title": title,
        "title_key": title_key("sample", title),
        "name": name,
        "continuity": continuity,
    }


def test_an_id_is_the_same_for_ever() -> None:
    assert entity_id("sample", "Varn", "canon") == "0dce5100-5a20-5197-94aa-f70472e5b1ff"
    assert uuid.UUID(entity_id("sample", "Varn", "canon")).version == 5


def test_composed_and_decomposed_names_are_one() -> None:
    decomposed = unicodedata.normalize("NFD", "Padmé")
    assert decomposed != "Padmé"
    assert entity_id("sample", decomposed, "canon") == entity_id("sample", "Padmé", "canon")


def test_no_separator_in_a_name_can_imitate_another_identity() -> None:
    assert entity_id("a", 'b", "c', "canon") != entity_id("a", "b", "c", "canon")
    assert entity_id("a", "b\x1fc", "canon") != entity_id("a", "b", "c\x1fcanon")


def test_names_that_are_no_valid_unicode_have_ids_too() -> None:
    assert entity_id("sample", "\ud800", "canon") != entity_id("sample", "\ud801", "canon")


def test_case_twins_are_two() -> None:
    assert entity_id("sample", "Varn", "canon") != entity_id("sample", "VARN", "canon")


def test_the_first_of_two_titles_of_one_identity_gets_the_plain_id() -> None:
    suffix, subpage = page("Varn (Legends)"), page("Varn/Legends")
    ids = new_ids([subpage, suffix], frozenset())
    assert ids == new_ids([suffix, subpage], frozenset())
    assert ids[suffix["title_key"]] == entity_id("sample", "Varn", "legends")
    assert ids[subpage["title_key"]] == entity_id("sample", "Varn", "legends", "Varn/Legends")


def test_an_id_that_is_taken_is_never_given_again() -> None:
    varn = page("Varn/Legends")
    taken: set[str] = set()
    for _ in range(4):
        (identifier,) = new_ids([varn], taken).values()
        assert identifier not in taken
        taken.add(identifier)
