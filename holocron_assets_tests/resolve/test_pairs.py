"""Which entities may be one, by their names alone."""

from time import perf_counter
from typing import Any

import pytest

from holocron_assets.lake.schema import Row
from holocron_assets.lake.tables import ENTITY_PAIRS
from holocron_assets.resolve.pairs import MOST_TOGETHER, name_key, pair_rows


def entity(identifier: str, name: str, **changes: Any) -> Row:
    return {
        "entity_id": identifier,
        "entity_type": "Species",
        "source": "sample",
        "name": name,
        "title": name,
        "batch": "sample-000001",
        "continuity": "canon",
        "state": "promoted",
        **changes,
    }


def alias(identifier: str, name: str) -> Row:
    return {"entity_id": identifier, "kind": "redirect", "alias": name}


def paired(entities: list[Row], *aliases: Row) -> dict[str, str]:
    """Reason by pair id."""
    rows = pair_rows(entities, aliases)
    assert ENTITY_PAIRS.to_arrow(rows, "Species").num_rows == len(rows)
    return {row["pair_id"]: row["reason"] for row in rows}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Varn", "varn"),
        ("R2-D2", "R2 D2"),
        ("Padmé", "Padme"),
        ("Varn (species)", "Varn"),
        ("Varn (species)", "Varn (people)"),
        ("Ki-Adi's", "Kiadis"),
        ("Straße", "STRASSE"),
        ("(Varn)", "Varn"),
    ],
)
def test_names_that_are_written_otherwise_are_one(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize(("one", "other"), [("Varn", "Varn II"), ("R2-D2", "R2-D3"), ("Ödun", "Adun")])
def test_other_names_are_other_names(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)


def test_two_entities_of_one_name_are_a_pair_with_the_smaller_id_first() -> None:
    (row,) = pair_rows([entity("b", "Varn (moon)"), entity("a", "Varn")], [])
    assert (row["pair_id"], row["first_title"], row["second_title"]) == ("a+b", "Varn", "Varn (moon)")
    assert (row["score"], row["is_exact"]) == (1.0, True)


def test_a_name_that_is_another_ones_alias_makes_a_pair() -> None:
    entities = [entity("a", "Varn"), entity("b", "Gort")]
    assert paired(entities, alias("b", "VARN")) == {"a+b": "'Gort' also goes by 'VARN'"}
    assert paired(entities, alias("a", "Gort")) == {"a+b": "'Varn' also goes by 'Gort'"}


def test_two_that_go_by_one_more_name_are_a_pair_of_less_weight() -> None:
    entities = [entity("a", "Varn"), entity("b", "Gort")]
    (row,) = pair_rows(entities, [alias("a", "The Old"), alias("b", "The old")])
    assert (row["score"], row["is_exact"]) == (0.8, False)


def test_the_best_reason_counts_where_there_are_several() -> None:
    entities = [entity("a", "Varn"), entity("b", "Varn (moon)")]
    assert paired(entities, alias("a", "Old"), alias("b", "Old")) == {"a+b": "both are called 'Varn'"}


@pytest.mark.parametrize(
    "changes", [{"continuity": "legends"}, {"continuity": "unknown"}, {"state": "suppressed"}]
)
def test_other_continuities_and_suppressed_entities_are_never_paired(changes: dict[str, str]) -> None:
    assert paired([entity("a", "Varn"), entity("b", "Varn", **changes)], alias("b", "Varn")) == {}


def test_names_without_letters_and_an_entitys_own_aliases_pair_nothing() -> None:
    assert paired([entity("a", "???"), entity("b", "!!!")], alias("a", "(?)")) == {}
    assert paired([entity("a", "Varn")], alias("a", "varn"), alias("a", "VARN")) == {}


def test_the_order_of_rows_changes_nothing() -> None:
    entities = [entity(letter, "Varn") for letter in "abcd"]
    aliases = [alias(letter, name) for letter in "abcd" for name in ("Old", "Older")]
    assert pair_rows(entities, aliases) == pair_rows(entities[::-1], aliases[::-1])


def test_of_a_name_that_very_many_share_only_neighbours_are_paired() -> None:
    many = [entity(f"{number:04}", f"Soldier ({number:04})") for number in range(MOST_TOGETHER + 1)]
    assert len(pair_rows(many, [])) == MOST_TOGETHER
    assert len(pair_rows(many[1:], [])) == MOST_TOGETHER * (MOST_TOGETHER - 1) // 2


@pytest.mark.full
def test_two_hundred_thousand_entities_take_seconds() -> None:
    entities = [entity(f"{number:06}", f"Thing {number % 150_000}") for number in range(200_000)]
    started = perf_counter()
    assert len(pair_rows(entities, [alias(row["entity_id"], row["name"]) for row in entities])) == 50_000
    assert perf_counter() - started < 30
