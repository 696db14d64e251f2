from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.entities.names.aliases import alias_rows, redirects_by_target
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import ENTITY_ALIASES


def entity(title: str, name: str | None = None, **changes: Any) -> Row:
    return {
        "entity_id": f"id of {title}",
        "entity_type": "Species",
        "source": "sample",
        "title": title,
        "title_key": title_key("sample", title),
        "name": name or title,
        "revision_id": 100,
        "state": "promoted",
        "merged_into": None,
        **changes,
    }


def redirect(from_title: str, target_title: str, revision_id: int | None = 7, source: str = "sample") -> Row:
    return {
        "source": source,
        "from_title": from_title,
        "target_title": target_title,
        "revision_id": revision_id,
    }


def redirected(entities: Sequence[Row], redirects: Sequence[Row]) -> set[tuple[str, str]]:
    rows = ENTITY_ALIASES.to_arrow(alias_rows(entities, redirects_by_target(redirects)), "all").to_pylist()
    return {(row["alias"], row["entity_id"]) for row in rows if row["kind"] == "redirect"}


def test_an_entity_goes_by_its_title() -> None:
    assert alias_rows([entity("Varn")], {}) == [
        {
            "entity_id": "id of Varn",
            "entity_type": "Species",
            "source": "sample",
            "alias": "Varn",
            "alias_key": title_key("sample", "Varn"),
            "kind": "title",
            "from_title": "Varn",
            "revision_id": 100,
        }
    ]


def test_an_entity_goes_by_its_name_where_that_is_not_its_title() -> None:
    rows = alias_rows([entity("Varn/Legends", "Varn")], {})
    named = [(row["kind"], row["alias"], row["alias_key"], row["from_title"]) for row in rows]
    assert named == [
        ("name", "Varn", title_key("sample", "Varn"), "Varn/Legends"),
        ("title", "Varn/Legends", title_key("sample", "Varn/Legends"), "Varn/Legends"),
    ]


def test_a_redirect_is_an_alias_that_leads_back_to_its_own_revision() -> None:
    rows = alias_rows([entity("Varn")], redirects_by_target([redirect("Varnite", "Varn", 55)]))
    (row,) = [row for row in rows if row["kind"] == "redirect"]
    assert (row["alias"], row["from_title"], row["revision_id"]) == ("Varnite", "Varnite", 55)
    assert row["alias_key"] == title_key("sample", "Varnite")


def test_a_redirect_to_a_legends_page_names_the_legends_entity_only() -> None:
    entities = [entity("Varn"), entity("Varn/Legends", "Varn")]
    redirects = [redirect("Old Varn", "Varn/Legends"), redirect("Varnite", "Varn")]
    expected = {("Old Varn", "id of Varn/Legends"), ("Varnite", "id of Varn")}
    assert redirected(entities, redirects) == expected


def test_chains_of_redirects_are_followed() -> None:
    redirects = [redirect("A", "B"), redirect("B", "C"), redirect("C", "Varn")]
    assert redirected([entity("Varn")], redirects) == {(title, "id of Varn") for title in "ABC"}


def test_a_very_long_chain_is_followed_to_its_end() -> None:
    redirects = [redirect(str(step), str(step + 1)) for step in range(5_000)]
    assert len(redirected([entity("5000")], redirects)) == 5_000


def test_redirects_in_a_circle_lead_nowhere() -> None:
    redirects = [redirect("A", "B"), redirect("B", "A"), redirect("C", "A"), redirect("D", "D")]
    assert redirected([entity("Varn")], redirects) == set()


def test_a_redirect_to_a_section_names_a_part_and_is_no_alias() -> None:
    redirects = [
        redirect("Youth", "Varn#Youth"),
        redirect("Childhood", "Youth"),
        redirect("Varnite", "Varn#"),
    ]
    assert redirected([entity("Varn")], redirects) == {("Varnite", "id of Varn")}


def test_a_redirect_to_a_page_without_entity_is_no_alias() -> None:
    assert redirected([entity("Varn")], [redirect("A", "Gort")]) == set()


def test_a_title_with_an_entity_of_its_own_is_no_redirect_any_more() -> None:
    redirects = [redirect("Gort", "Varn"), redirect("A", "Gort"), redirect("Varn", "Gort")]
    assert redirected([entity("Varn"), entity("Gort")], redirects) == {("A", "id of Gort")}


def test_of_two_revisions_of_a_redirect_the_newest_counts() -> None:
    redirects = [redirect("A", "Gort", 9), redirect("A", "Varn", 8), redirect("A", "Varn", None)]
    expected = {("A", "id of Gort")}
    assert redirected([entity("Varn"), entity("Gort")], redirects) == expected
    assert redirected([entity("Varn"), entity("Gort")], redirects[::-1]) == expected


def test_a_redirect_of_another_source_is_not_ours() -> None:
    assert redirected([entity("Varn")], [redirect("A", "Varn", source="other")]) == set()


def test_a_suppressed_entity_goes_by_no_name() -> None:
    assert (
        alias_rows([entity("Varn", state="suppressed")], redirects_by_target([redirect("A", "Varn")])) == []
    )


titles = st.sampled_from("ABCDEFG")


@given(
    st.lists(titles, unique=True, max_size=3),
    st.lists(st.builds(redirect, titles, titles, st.integers(1, 3))),
)
def test_each_redirect_names_one_entity_at_most_and_ends_at_it(
    entity_titles: list[str], redirects: list[Row]
) -> None:
    found = redirected([entity(title) for title in entity_titles], redirects)
    assert len({alias for alias, _ in found}) == len(found)
    targets = {
        row["from_title"]: row["target_title"]
        for row in sorted(redirects, key=lambda row: (row["revision_id"], row["target_title"]))
    }
    for alias, identifier in found:
        title = alias
        while title not in entity_titles:
            title = targets[title]
        assert identifier == f"id of {title}"
        assert alias not in entity_titles
