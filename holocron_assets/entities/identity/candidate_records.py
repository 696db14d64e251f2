"""Records of a type's candidates: the values by which each is compared with others."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from holocron_assets.entities.identity.records import Record
from holocron_assets.entities.names.aliases import Redirects, redirects_to
from holocron_assets.lake.declaration.schema import Row


def records_of(
    candidates: Iterable[Row],
    redirects: Redirects,
    stated_names: Mapping[int, Sequence[Row]],
    wikis: Mapping[str, str],
) -> Iterator[Record]:
    """The records of candidates.

    Args:
        candidates: rows of `entity_candidates` with `origin` and `entity_id`.
        redirects: all redirects, with their `name`, by their target.
        stated_names: further names and identifiers from pages and lists, by title key: rows with `kind`
            ('name', 'mention' or 'external_id'), `key` and `value`.
        wikis: the place of each source's wiki.
    """
    for row in candidates:
        key = row["title_key"]
        stated = stated_names.get(key, ())
        names = {each["name"] for each in redirects_to(key, redirects)} if key in redirects else set()
        names |= {each["value"] for each in stated if each["kind"] != "external_id"}
        yield Record(
            entity_id=row["entity_id"],
            entity_type=row["entity_type"],
            source=row["source"],
            wiki=wikis.get(row["source"], row["source"]),
            page_id=row["page_id"],
            title=row["title"],
            batch=row["batch"],
            continuity=row["continuity"],
            origin=row["origin"],
            name=row["name"],
            names=tuple(sorted(names - {row["name"]})),
            external_ids=tuple(
                sorted({_identifier(each) for each in stated if each["kind"] == "external_id"})
            ),
        )


def _identifier(stated: Row) -> str:
    value = stated["value"].casefold()
    return f"{stated['key']}:{''.join(character for character in value if character not in ' -')}"
