"""One look at the lake: what entities and their names are made from, read once for however many types."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib.resources import files
from typing import Any

import duckdb

from holocron_assets.lake.paths import Lake
from holocron_assets.lake.rows import rows_of
from holocron_assets.lake.schema import Row
from holocron_assets.lake.tables import ENTITIES, ENTITY_CANDIDATES
from holocron_assets.lake.views import connect, query
from holocron_assets.resolve.aliases import Redirects, redirects_by_target
from holocron_assets.resolve.identity import Holders, holders_of
from holocron_assets.resolve.reviews import IN_DISPUTE, PageNow

_LOOK = files(__package__).joinpath("look.sql").read_text(encoding="utf-8")
_PAGES_NOW = files(__package__).joinpath("pages_now.sql").read_text(encoding="utf-8")
_CANDIDATE_COLUMNS = ", ".join(f'"{name}"' for name in ENTITY_CANDIDATES.arrow_schema.names)
_CANDIDATES = f"""
    select {_CANDIDATE_COLUMNS} from present_candidates where entity_type = $type order by source, title
"""  # noqa: S608 - column names of our own
_CANDIDATE_MARKS = """
    select
        entity_type,
        count(*) || '-' || bit_xor(hash(
            batch, title_key, page_id, revision_id, name, continuity, confidence, method, rule_ids,
            needs_review, has_lead
        )) as mark
    from present_candidates
    group by entity_type
"""
# A redirect whose title is an entity's, in any type, is no alias. It is left out here, so of the mark too:
# aliases are stale when it becomes one.
_REDIRECTS = """
    select source, from_title, target_title, revision_id
    from present_redirects
    where title_key not in (
        select title_key from ({entities}) where valid_to is null and state <> 'suppressed'
    )
"""
_REDIRECTS_MARK = """
    select
        count(*) || '-' || coalesce(bit_xor(hash(source, from_title, target_title, revision_id)), 0) as mark
    from ({redirects})
"""
_HELD_COLUMNS = (
    *("entity_id", "entity_type", "source", "title", "title_key", "page_id", "revision_id", "state"),
    *("confidence", "method", "review_reason", "review_since", "valid_from"),
)
# Not by the view of entities either.
_IN_DISPUTE = """
    select entity_type, title_key, page_id, review_reason
    from ({entities})
    where valid_to is null and contains(review_reason, $reason)
"""
_PAGES_MARK = """
    select
        count(*) || '-' || coalesce(
            bit_xor(hash(source, title_key, page_id, revision_id, primary_type, confidence, method, model)), 0
        ) as mark
    from lake.page_types as types
    semi join present_answers as present
        on types.batch = present.batch and types.title_key = present.title_key
    where types.title_key in (select unnest($titles)) or types.page_id in (select unnest($pages))
"""
_HELD = f"select {', '.join(_HELD_COLUMNS)} from entities"  # noqa: S608 - column names of our own


class Look:
    """The lake as it was at one moment, as far as entities are made from it.

    Entities themselves are resolved type by type from one look: what is written meanwhile is put in with
    `put_entities`.
    """

    def __init__(self, lake: Lake, connection: duckdb.DuckDBPyConnection) -> None:
        """Look through a connection in which `look.sql` was run."""
        self.lake = lake
        self._connection = connection

    @cached_property
    def candidate_marks(self) -> Mapping[str, str]:
        """A mark of each type's candidates, which is another when they are."""
        return {row["entity_type"]: row["mark"] for row in query(self._connection, _CANDIDATE_MARKS)}

    def candidates(self, entity_type: str) -> list[dict[str, Any]]:
        """Rows of `entity_candidates` of current pages, of one type."""
        return query(self._connection, _CANDIDATES, {"type": entity_type})

    @cached_property
    def pages_now(self) -> Mapping[tuple[str, str], PageNow]:
        """What became of pages, by the type and id of the entities that were read from them."""
        return {
            (row["held_as"], row["entity_id"]): PageNow(row if row["title"] else None, row["was_absent"])
            for row in query(self._connection, _PAGES_NOW)
        }

    def elsewhere(self, entity_type: str) -> list[Holders]:
        """Current rows of the entities of all other types."""
        return [holders for name, holders in self._held.items() if name != entity_type]

    @cached_property
    def redirects(self) -> Redirects:
        """Redirects that may give entities a name, by what they lead to."""
        return redirects_by_target(query(self._connection, self._redirects))

    @cached_property
    def redirects_mark(self) -> str:
        """A mark of the redirects that may give entities a name, which is another when they are."""
        mark: str = query(self._connection, _REDIRECTS_MARK.format(redirects=self._redirects))[0]["mark"]
        return mark

    def disputes_mark(self, rows: Iterable[Row]) -> str:
        """A mark of how the pages of some entities are typed now; empty without any."""
        titles, pages = list[int](), list[int]()
        for row in rows:
            titles.append(row["title_key"])
            pages += [] if row["page_id"] is None else [row["page_id"]]
        if not titles:
            return ""
        mark: str = query(self._connection, _PAGES_MARK, {"titles": titles, "pages": pages})[0]["mark"]
        return mark

    @cached_property
    def in_dispute(self) -> Mapping[str, list[Row]]:
        """The entities of each type whose page is typed otherwise, but less surely."""
        sql = _IN_DISPUTE.format(entities=rows_of(self.lake, ENTITIES))
        by_type: defaultdict[str, list[Row]] = defaultdict(list)
        for row in query(self._connection, sql, {"reason": IN_DISPUTE}):
            by_type[row["entity_type"]].append(row)
        return by_type

    def put_entities(self, entity_type: str, current: Iterable[Row]) -> None:
        """Let the entities of a type be these now: their file was written."""
        slim = ({name: row[name] for name in _HELD_COLUMNS} for row in current)
        self._held[entity_type] = holders_of(slim)
        for name in ("redirects", "redirects_mark", "in_dispute"):
            self.__dict__.pop(name, None)

    @cached_property
    def _held(self) -> dict[str, Holders]:
        by_type: defaultdict[str, list[Row]] = defaultdict(list)
        for row in query(self._connection, _HELD):
            by_type[row["entity_type"]].append(row)
        return {name: holders_of(rows) for name, rows in by_type.items()}

    @property
    def _redirects(self) -> str:
        # Not by a view: those that the connection has were made when no entity may have been written yet.
        return _REDIRECTS.format(entities=rows_of(self.lake, ENTITIES))


@contextmanager
def look_at(lake: Lake) -> Iterator[Look]:
    """Take a look at the lake, which holds its memory until the block's end."""
    with connect(lake) as connection:
        query(connection, _LOOK)
        yield Look(lake, connection)
