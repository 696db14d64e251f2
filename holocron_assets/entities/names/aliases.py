"""The names of entities."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter
from types import MappingProxyType

from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row

_KINDS = {"name": "infobox", "mention": "mention"}
_BY_KEY = itemgetter("entity_id", "kind", "alias")
_READ_FROM = itemgetter("entity_id", "kind", "alias", "source", "from_title")

Redirects = Mapping[int, Sequence[Row]]
"""Redirects by the title key of the page that each leads to."""


def redirects_by_target(redirects: Iterable[Row]) -> Redirects:
    """Redirects that name a thing, by their target.

    A redirect to a section ("X#Youth") names a part and not the thing, so neither it nor what leads to it is
    an alias.

    Args:
        redirects: rows with `source`, `from_title`, `target_title` (canonical, with its fragment if any) and
            `revision_id`: of a title that is given twice, the newest revision counts.
    """
    newest: dict[int, Row] = {}
    for row in sorted(redirects, key=lambda row: (row.get("revision_id") or 0, row["target_title"])):
        newest[title_key(row["source"], row["from_title"])] = row
    leading_to: defaultdict[int, list[Row]] = defaultdict(list)
    for row in newest.values():
        target, _, fragment = row["target_title"].partition("#")
        if not fragment:
            leading_to[title_key(row["source"], target)].append(row)
    return leading_to


def alias_rows(
    entities: Sequence[Row],
    redirects: Redirects,
    stated_names: Mapping[int, Sequence[Row]] = MappingProxyType({}),
) -> list[Row]:
    """All rows of `entity_aliases`: titles, names without suffix, redirects, and names from pages and lists.

    The title of a redirect is an alias of the entity whose page it leads to, also through other redirects:
    one to "X/Legends" names the Legends entity only. Redirects in a circle lead nowhere. A title with an
    entity of its own is no redirect's alias.

    Args:
        entities: current rows of `entities`, of any types, each with the key of the title at which its page
            is now; None if another page is at its title. Suppressed ones get no alias. Aliases of merged ones
            go to the entity that they were merged into.
        redirects: from `redirects_by_target`.
        stated_names: names by title key: rows with `kind` ('name' in the infobox, 'mention' in a list),
            `value`, `from_title` and `revision_id`.

    Returns:
        The rows, by entity, kind and alias.
    """
    out = {row["entity_id"] for row in entities if row["state"] == "suppressed"}
    held = [row for row in entities if not out & {row["entity_id"], row["merged_into"]}]
    titles = {row["title_key"] for row in held}
    found = [row for entity in held for row in _aliases(entity, redirects, titles, stated_names)]
    ordered = sorted(found, key=_READ_FROM)
    return list({_BY_KEY(row): row for row in reversed(ordered)}.values())[::-1]


def _aliases(
    entity: Row, leading_to: Redirects, titles: AbstractSet[int], stated_names: Mapping[int, Sequence[Row]]
) -> Iterator[Row]:
    title, name, key = entity["title"], entity["name"], entity["title_key"]
    yield _alias(entity, "title", title, title, entity["revision_id"])
    if name != title:
        yield _alias(entity, "name", name, title, entity["revision_id"])
    for redirect in redirects_to(key, leading_to, titles):
        yield _alias(
            entity, "redirect", redirect["from_title"], redirect["from_title"], redirect["revision_id"]
        )
    for row in stated_names.get(key, ()):
        if row["kind"] in _KINDS and row["value"] not in (title, name):
            yield _alias(entity, _KINDS[row["kind"]], row["value"], row["from_title"], row["revision_id"])


def redirects_to(key: int, leading_to: Redirects, titles: AbstractSet[int] = frozenset()) -> Iterator[Row]:
    """The redirects that lead to a title, also through other redirects.

    Args:
        key: the title's key.
        leading_to: from `redirects_by_target`.
        titles: keys of titles that never count as redirects.
    """
    seen, waiting = {key}, [key]
    while waiting:
        for redirect in leading_to.get(waiting.pop(), ()):
            title = title_key(redirect["source"], redirect["from_title"])
            if title not in titles and title not in seen:
                seen.add(title)
                waiting.append(title)
                yield redirect


def _alias(entity: Row, kind: str, alias: str, from_title: str, revision_id: int | None) -> Row:
    return {
        "entity_id": entity["merged_into"] or entity["entity_id"],
        "entity_type": entity["entity_type"],
        "source": entity["source"],
        "alias": alias,
        "alias_key": title_key(entity["source"], alias),
        "kind": kind,
        "from_title": from_title,
        "revision_id": revision_id,
    }
