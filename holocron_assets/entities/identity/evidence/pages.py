"""What the pages of two records say of both: facts that agree or contradict, and common relations."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import NamedTuple

import duckdb
import pyarrow as pa

from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.views.database import query

_SAID_OF_BOTH = files(__package__).joinpath("pages.sql").read_text(encoding="utf-8")
_ASKED = pa.schema(
    [
        ("pair_id", pa.string()),
        ("first_key", pa.int64()),
        ("second_key", pa.int64()),
        ("one_language", pa.bool_()),
    ]
)
_ENOUGH = 3
"""From so many facts on, more of them make nothing surer."""


class SaidOfBoth(NamedTuple):
    """What two pages say.

    Attributes:
        one_template: whether their infoboxes are of one template.
        common_targets: how much of what the relations of one lead to is common to both, between 0 and 1; None
            if one has no relations, or they are of two languages.
        agreeing: keys of facts of which both have one value.
        contradicting: keys of which an entity has one value, and both have others: 'died (4 ABY, 9 ABY)'.
    """

    one_template: bool = False
    common_targets: float | None = None
    agreeing: tuple[str, ...] = ()
    contradicting: tuple[str, ...] = ()


NOTHING_SAID = SaidOfBoth()


def said_of_both(
    connection: duckdb.DuckDBPyConnection, pairs: Sequence[Row], languages: Mapping[str, str]
) -> dict[str, SaidOfBoth]:
    """What the pages of pairs say of both, by pair id; pairs of which nothing is said are left out.

    Args:
        connection: of a snapshot.
        pairs: rows of `entity_pairs`.
        languages: of the sources; what is said in two languages is compared by its dates alone.
    """
    if not pairs:
        return {}
    asked = pa.Table.from_pylist([_asked(pair, languages) for pair in pairs], schema=_ASKED)
    connection.register("asked_pairs", asked)
    try:
        rows = query(connection, _SAID_OF_BOTH)
    finally:
        connection.unregister("asked_pairs")
    return {
        row["pair_id"]: SaidOfBoth(
            row["one_template"],
            row["common_targets"],
            tuple(row["agreeing"] or ()),
            tuple(row["contradicting"] or ()),
        )
        for row in rows
    }


def _asked(pair: Row, languages: Mapping[str, str]) -> Row:
    first, second = pair["first_source"], pair["second_source"]
    return {
        "pair_id": pair["pair_id"],
        "first_key": title_key(first, pair["first_title"]),
        "second_key": title_key(second, pair["second_title"]),
        "one_language": languages.get(first) == languages.get(second),
    }


def with_evidence(pairs: Iterable[Row], said: Mapping[str, SaidOfBoth]) -> list[Row]:
    """Pairs with what their pages say: as evidence between -1 and 1, and in words.

    A pair that facts contradict is not the same for sure.

    Args:
        pairs: rows of `entity_pairs`.
        said: from `said_of_both`.
    """
    return [_with_evidence(pair, said.get(pair["pair_id"], NOTHING_SAID)) for pair in pairs]


def _with_evidence(pair: Row, said: SaidOfBoth) -> Row:
    evidence = {
        "template": float(said.one_template),
        "targets": 0.0 if said.common_targets is None else round(2 * said.common_targets - 1, 2),
        "facts": round(min(len(said.agreeing), _ENOUGH) / _ENOUGH, 2),
        "contradictions": round(min(len(said.contradicting), _ENOUGH) / _ENOUGH, 2),
    }
    words = [
        *(["one infobox template"] if said.one_template else ()),
        *([f"both have the same {', '.join(said.agreeing)}"] if said.agreeing else ()),
        *([f"they contradict each other: {', '.join(said.contradicting)}"] if said.contradicting else ()),
    ]
    return {
        **pair,
        "verdict": "unsure" if said.contradicting else pair["verdict"],
        "reason": "; ".join([pair["reason"], *words]),
        "evidence": [
            *pair["evidence"],
            *({"name": name, "value": value} for name, value in evidence.items() if value),
        ],
    }
