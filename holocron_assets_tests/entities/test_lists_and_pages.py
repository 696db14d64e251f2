"""A list of fifty things and their fifty pages end as fifty entities, whichever is read first."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from listed_wiki import SOURCE, ListedWiki, droid, list_of, named

from holocron_assets.entities.identity.identity import entity_id
from holocron_assets.lake.declaration.schema import Row

pytestmark = pytest.mark.system

LIST = "List of droids"
_FIRST = ("Brass", "Lamplighter", "Reedwing", "Ashen", "Quayside")
_SECOND = (
    "Tam",
    "Kettle",
    "Lantern",
    "Ferryman",
    "Bellows",
    "Cooper",
    "Harrow",
    "Thimble",
    "Gannet",
    "Plover",
)
TITLES = [" ".join(words) for words in product(_FIRST, _SECOND)]
"""Of fifty pages."""

OTHER_NAMES = {
    "Brass Tam": "The Tin Pilot",  # by a redirect
    "Lamplighter Kettle": "LAMPLIGHTER KETTLE",  # by case
    "Reedwing Lantern": "Reed-wing Lantern",  # by punctuation
    "Lamplighter Ferryman": "Lampligter Ferryman",  # by a slip of the pen
    "Quayside Bellows": "Quayside Bellow",  # by number
    "Ashen Thimble": "Old Rusty",  # by the page's own name, which the list gives as another
}
"""What the list calls some of them."""


def names() -> list[str]:
    return [OTHER_NAMES.get(title, title) for title in TITLES]


def pages() -> dict[str, str]:
    redirect = {"The Tin Pilot": "#REDIRECT [[Brass Tam]]"}
    return {**{title: droid(title) for title in TITLES}, **redirect}


def the_list(*, linked: bool) -> dict[str, str]:
    items = [
        f"[[{title}|{OTHER_NAMES.get(title, title)}]]" if linked else name
        for title, name in zip(TITLES, names(), strict=True)
    ]
    return {LIST: list_of(*items)}


def said() -> dict[str, Sequence[Row]]:
    aliases = {OTHER_NAMES["Ashen Thimble"]: ["Ashen Thimble"]}
    return {LIST: [named(name, aliases=aliases.get(name, [])) for name in names()]}


def standing(wiki: ListedWiki) -> dict[str, tuple[str, str]]:
    """Id and origin by title of the entities that stand for themselves."""
    rows = wiki.query("from entities where state not in ('merged', 'suppressed')")
    return {row["title"]: (row["entity_id"], row["origin"]) for row in rows}


def merged(wiki: ListedWiki) -> dict[str, str]:
    """By title of what was merged, that of what it is now."""
    rows = wiki.query(
        "select gone.title, kept.title as into from entities as gone "
        "join entities as kept on gone.merged_into = kept.entity_id"
    )
    return {row["title"]: row["into"] for row in rows}


@pytest.mark.parametrize("linked", [True, False], ids=["linked", "not linked"])
@pytest.mark.parametrize("list_first", [True, False], ids=["list first", "pages first"])
def test_a_list_and_its_pages_are_one_entity_each(tmp_path: Path, *, linked: bool, list_first: bool) -> None:
    wiki = ListedWiki(tmp_path)
    for step in (the_list(linked=linked), pages()) if list_first else (pages(), the_list(linked=linked)):
        wiki.crawl(step)
        if LIST in step:
            wiki.read_lists(said())
        wiki.resolve()
    assert standing(wiki) == {title: (entity_id(SOURCE, title), "page") for title in TITLES}
    assert wiki.resolve() == []


def test_names_without_pages_are_fifty_entities_that_the_pages_take_over(tmp_path: Path) -> None:
    wiki = ListedWiki(tmp_path)
    wiki.crawl(the_list(linked=False))
    wiki.read_lists(said())
    wiki.resolve()
    before = standing(wiki)
    assert len(before) == len(TITLES)
    assert {origin for _, origin in before.values()} == {"mention"}
    wiki.crawl(pages())
    wiki.resolve()
    after = standing(wiki)
    kept = before.keys() & after.keys()
    assert {title: after[title][0] for title in kept} == {title: before[title][0] for title in kept}
    assert (
        merged(wiki).items()
        >= {
            "Lampligter Ferryman": "Lamplighter Ferryman",
            "Old Rusty": "Ashen Thimble",
            "Quayside Bellow": "Quayside Bellows",
        }.items()
    )


def test_another_name_that_a_list_gives_later_makes_aliases_anew(tmp_path: Path) -> None:
    wiki = ListedWiki(tmp_path)
    wiki.crawl({"Brass Tam": droid("Brass Tam"), LIST: list_of("[[Brass Tam]]")})
    wiki.read_lists({LIST: [named("Brass Tam")]})
    wiki.resolve()
    wiki.read_lists({LIST: [named("Brass Tam", aliases=["Old Rusty"])]})
    assert "entity_aliases" in wiki.resolve()
    assert ("mention", "Old Rusty") in {
        (row["kind"], row["alias"]) for row in wiki.query("from lake.entity_aliases")
    }
