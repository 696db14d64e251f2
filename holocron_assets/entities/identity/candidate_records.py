"""Records of a type's candidates: the values by which each is compared with others."""

from collections.abc import Iterable, Iterator, Sequence

from holocron_assets.entities.identity.records import Record
from holocron_assets.entities.names.aliases import redirects_to
from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.lake.declaration.schema import Row

_NAMES = frozenset({"name", "mention"})


def records_of(
    candidates: Iterable[Row], snapshot: Snapshot, singling_out: Sequence[Sequence[str]]
) -> Iterator[Record]:
    """The records of candidates.

    Args:
        candidates: rows of `entity_candidates` with `origin` and `entity_id`.
        snapshot: of the lake that says more of them.
        singling_out: sets of keys of facts; if all values of a set are equal, they single a thing out.
    """
    redirects, wikis = snapshot.redirects_now, snapshot.wikis
    for row in candidates:
        key = row["title_key"]
        stated = snapshot.stated_names.get(key, ())
        names = {each["name"] for each in redirects_to(key, redirects)} if key in redirects else set()
        names |= {each["value"] for each in stated if each["kind"] in _NAMES}
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
            singled_out_by=tuple(_singled_out_by(stated, singling_out)),
            related=tuple(sorted({each["target"] for each in stated if each["kind"] == "relation"} - {None})),
            to_merge=snapshot.merger_notices.get(key, ()),
        )


def _singled_out_by(stated: Sequence[Row], singling_out: Sequence[Sequence[str]]) -> Iterator[str]:
    """Each complete set of facts, with its values in order."""
    for keys in singling_out:
        values = [sorted({row["value"].casefold() for row in stated if row["key"] == key}) for key in keys]
        if all(values):
            yield "; ".join(f"{key}={', '.join(each)}" for key, each in zip(keys, values, strict=True))


def _identifier(stated: Row) -> str:
    value = stated["value"].casefold()
    return f"{stated['key']}:{''.join(character for character in value if character not in ' -')}"
