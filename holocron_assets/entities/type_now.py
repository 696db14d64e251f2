"""One type's candidates and entities, and which candidate stands for which entity.

In a large type, little changes from one run to the next. Unchanged rows are joined in the database and never
become Python rows: only the others are matched, and decided about, one by one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa

from holocron_assets.entities.history import current_rows
from holocron_assets.entities.identity.clusters import Member
from holocron_assets.entities.identity.identity import Known, held_in, identified, is_mention, last_held
from holocron_assets.entities.mentions.confidence import mention_confidence
from holocron_assets.entities.promotion import PromotionPolicy
from holocron_assets.entities.reviews import away_ids, has_left
from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.rows import rows_of
from holocron_assets.lake.tables import ENTITIES, ENTITY_CANDIDATES
from holocron_assets.lake.views.database import arrow, query

_CANDIDATE = pa.schema(
    [
        *(field for field in ENTITY_CANDIDATES.arrow_schema if field.name != "run_id"),
        pa.field("origin", pa.string()),
    ]
)
_COLUMNS = ", ".join(f'"{name}"' for name in _CANDIDATE.names)
_MAKE_CANDIDATES = f"""
    create or replace table of_type.candidates as
    select {_COLUMNS}
    from (select *, 'page' as origin from present_candidates where entity_type = $type)
    union all by name
    from mention_candidates
"""  # noqa: S608 - column names of our own
_MAKE_ENTITIES = "create or replace table of_type.entities as from ({entities})"
# Pages that stand for the same entity as before: only one has their title and page id, and no other type
# has either of them.
_MAKE_MATCHED = """
    create or replace table of_type.matched as
    with elsewhere as (
        select entity_id, source, title_key, page_id
        from ({entities})
        where valid_to is null and state <> 'suppressed' and entity_type <> $type
    )
    select candidates.title_key, entities.entity_id
    from of_type.candidates as candidates
    join of_type.entities as entities
        on candidates.title_key = entities.title_key
            and candidates.page_id is not distinct from entities.page_id
    where entities.valid_to is null
        and entities.state <> 'suppressed'
        and entities.entity_id not in (select entity_id from elsewhere)
        and candidates.title_key not in (select title_key from elsewhere)
        and not exists (
            from elsewhere
            where elsewhere.source = candidates.source and elsewhere.page_id = candidates.page_id
        )
    qualify count(*) over (partition by candidates.title_key) = 1
"""
_UNMATCHED = f"""
    select {_COLUMNS} from of_type.candidates anti join of_type.matched using (title_key)
    order by source, title
"""  # noqa: S608 - the same
_FREE = "from of_type.entities anti join of_type.matched using (entity_id) where valid_to is null"
_IDENTIFIED = (
    f"select entity_id, {_COLUMNS} from of_type.candidates join of_type.identified using (title_key)"  # noqa: S608 - the same
)
_VALUES = "entity_id, entity_type, source, title, title_key, page_id, batch, continuity, origin, name"
_WHO = f"select {_VALUES} from of_type.candidates join of_type.identified using (title_key)"  # noqa: S608 - the same
_WHO_OF_SOME = f"{_WHO} where entity_id in (select unnest($ids::varchar[]))"
_MARKS = f"select entity_id, title_key, source, hash({_VALUES}) as mark from ({_WHO})"  # noqa: S608 - the same
_SAME = " and ".join(
    f"candidates.{name} is not distinct from entities.{name}"
    for name in (
        "source",
        "title",
        "revision_id",
        "name",
        "continuity",
        "confidence",
        "method",
        "rule_ids",
        "origin",
    )
)
# Entities that a run would not change: only the policy decides about them, and their page is as it was.
_MAKE_QUIET = f"""
    create or replace table of_type.quiet as
    select
        entities.entity_id, entities.title_key, entities.state, entities.state_reason,
        candidates.entity_type, candidates.confidence, candidates.method, candidates.rule_ids,
        candidates.needs_review, candidates.has_lead,
        candidates.origin
    from of_type.matched as matched
    join of_type.candidates as candidates using (title_key)
    join (from of_type.entities where valid_to is null) as entities using (entity_id)
    where entities.state in ('staged', 'candidate', 'promoted')
        and entities.review_reason is null
        and entities.entity_id not in (select unnest($busy::varchar[]))
        and {_SAME}
"""  # noqa: S608 - column names of our own
_DECIDED = (
    *("state", "state_reason", "entity_type", "confidence", "method", "rule_ids", "needs_review", "has_lead"),
    "origin",
)
_BY_WHAT = f"select distinct {', '.join(_DECIDED)} from of_type.quiet"  # noqa: S608 - the same
_MAKE_KEPT = f"""
    create or replace table of_type.kept as
    select entity_id, title_key from of_type.quiet semi join steady using ({", ".join(_DECIDED)})
"""  # noqa: S608 - the same
_LEFT = (
    "from of_type.entities where valid_to is not null or entity_id in (select entity_id from of_type.kept)"
)
_CHANGED = f"select {_COLUMNS} from of_type.candidates anti join of_type.kept using (title_key)"  # noqa: S608 - the same
_CURRENT = "from of_type.entities anti join of_type.kept using (entity_id) where valid_to is null"
_HELD = "from of_type.entities where valid_to is null and entity_id in (select unnest($ids::varchar[]))"
_TAKEN = "select distinct entity_id from of_type.entities"
_NOT_ONE_CURRENT = """
    select entity_id from of_type.entities group by all having count(*) filter (valid_to is null) <> 1
"""
_TOUCHED = """
    select 1 as touched
    where exists (from of_type.candidates semi join changed_rows using (title_key))
        or exists (from of_type.candidates semi join changed_rows using (source, page_id))
        or exists (from of_type.identified semi join changed_rows using (entity_id))
        or exists (from of_type.entities semi join changed_rows using (entity_id))
"""
_MAKE_IDENTIFIED = """
    create or replace table of_type.identified as
    from of_type.matched
    union all by name
    from found_ids
"""
_FOUND = pa.schema([("title_key", pa.int64()), ("entity_id", pa.string())])


class IdentifiedMark(NamedTuple):
    """A candidate, by the entity that it stands for.

    Attributes:
        entity_id: the entity.
        title_key: of its page.
        source: its source.
        mark: a number that changes with the candidate's values.
    """

    entity_id: str
    title_key: int
    source: str
    mark: int


class TypeNow:
    """One type as it was when this object was made."""

    def __init__(self, snapshot: Snapshot, entity_type: str) -> None:
        """Match the type's candidates with its entities."""
        self._snapshot = snapshot
        self._type = entity_type
        connection, lake = snapshot.connection, snapshot.lake
        mentions = snapshot.mentions.candidates(entity_type, mention_confidence())
        connection.register("mention_candidates", pa.Table.from_pylist(mentions, schema=_CANDIDATE))
        own = [entity_type] if lake.has(ENTITIES, entity_type) else []
        for sql in (
            f'create schema if not exists "{entity_type}"',
            _MAKE_CANDIDATES,
            _MAKE_ENTITIES.format(entities=rows_of(lake, ENTITIES, own)),
            _MAKE_MATCHED.format(entities=rows_of(lake, ENTITIES)),
        ):
            self._query(sql, {"type": entity_type} if "$type" in sql else None)
        self._identify()

    def _identify(self) -> None:
        candidates, free = self._query(_UNMATCHED), self._query(_FREE)
        current = {row["entity_id"]: row for row in free}
        ids = identified(candidates, current, self._known(free)) if candidates else {}
        found = [{"title_key": key, "entity_id": name} for key, name in ids.items()]
        self._snapshot.connection.register("found_ids", pa.Table.from_pylist(found, schema=_FOUND))
        self._query(_MAKE_IDENTIFIED)

    def _known(self, free: Sequence[Row]) -> Known:
        snapshot, kept = self._snapshot, self._snapshot.people.keeps
        away = away_ids(free, snapshot.pages_now, kept)
        return Known(snapshot.elsewhere(self._type), kept, self.taken, away, snapshot.first_titles)

    @cached_property
    def taken(self) -> AbstractSet[str]:
        """Ids of all the type's entities.

        Raises:
            ValueError: an entity has no current row, or several.
        """
        if self._query(_NOT_ONE_CURRENT):
            current_rows(self._query("from of_type.entities"))
        ids = arrow(self._snapshot.connection, self._of_type(_TAKEN)).column("entity_id")
        return frozenset(ids.to_pylist())

    def identified(self, ids: AbstractSet[str] | None = None) -> list[dict[str, Any]]:
        """The candidates, with the id of the entity that each stands for, or will stand for.

        Args:
            ids: only those with one of these ids; all by default.
        """
        return self._query(_WHO) if ids is None else self._query(_WHO_OF_SOME, {"ids": sorted(ids)})

    def marks(self) -> Iterator[IdentifiedMark]:
        """A mark of each row of `identified`, without making rows."""
        found = self._snapshot.connection.sql(self._of_type(_MARKS)).to_arrow_table()
        columns = (found.column(name).to_pylist() for name in IdentifiedMark._fields)
        return map(IdentifiedMark._make, zip(*columns, strict=True))

    def members(self, ids: AbstractSet[str]) -> dict[str, Member]:
        """The given entities of the type, with the values that decide what they can be one with."""
        asked = {"ids": sorted(ids)}
        present = self._query(f"{_IDENTIFIED} where entity_id in (select unnest($ids::varchar[]))", asked)
        found = {row["entity_id"]: self._member(row, is_present=True) for row in present}
        left = [row for row in self._query(_HELD, asked) if row["entity_id"] not in found]
        gone = [row for row in left if not self._is_of_another_type(row)]
        return found | {row["entity_id"]: self._member(row, is_present=False) for row in gone}

    def changed(
        self, busy: Iterable[str], policy: PromotionPolicy
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]], pa.Table]:
        """The rows that a run decides about, and those that it leaves as they are.

        Args:
            busy: ids of entities about which not only the policy decides.
            policy: gives states.

        Returns:
            The candidates and the current rows that are to be resolved, and all other rows, history included.
        """
        self._query(_MAKE_QUIET, {"busy": sorted(busy)})
        self._snapshot.connection.register("steady", self._steady(policy))
        self._query(_MAKE_KEPT)
        rows: pa.Table = self._snapshot.connection.sql(self._of_type(_LEFT)).to_arrow_table()
        left = rows.select(ENTITIES.arrow_schema.names).cast(ENTITIES.arrow_schema)
        return self._query(_CHANGED), self._query(_CURRENT), left

    def is_touched_by(self, changed: pa.Table) -> bool:
        """Whether any of some rows of another type's entities shares a page or an id with this type.

        Args:
            changed: rows with entity_id, source, title_key and page_id.
        """
        self._snapshot.connection.register("changed_rows", changed)
        return bool(self._query(_TOUCHED))

    def _steady(self, policy: PromotionPolicy) -> pa.Table:
        """Of all inputs and results of policies, those for which this policy gives the same result."""
        seen = self._query(_BY_WHAT)
        steady = [row for row in seen if policy.decide(row)[::2] == (row["state"], row["state_reason"])]
        columns = [ENTITIES.arrow_schema.field(name) for name in ("state", "state_reason")]
        columns += [_CANDIDATE.field(name) for name in _DECIDED[2:]]
        return pa.Table.from_pylist(steady, schema=pa.schema(columns))

    def _is_of_another_type(self, row: Row) -> bool:
        """Whether an entity stands in another type, or will once that is resolved; or stood there last."""
        held = held_in(self._snapshot.elsewhere(self._type), row["entity_id"])
        if any(each["state"] != "suppressed" for each in held) or last_held([row, *held]) is not row:
            return True
        if is_mention(row):
            return self._snapshot.mentions.types.get(row["title_key"], self._type) != self._type
        return self._is_candidate_elsewhere(row)

    def _is_candidate_elsewhere(self, row: Row) -> bool:
        """Whether the page that an entity was read from stands for it in another type now."""
        known = self._snapshot.pages_now.get((row["entity_type"], row["entity_id"]))
        page = known.page if known else None
        if page is None or page["entity_type"] not in self._snapshot.candidate_marks:
            return False
        return has_left(row, page, self._snapshot.people.keeps)

    def _member(self, row: Row, *, is_present: bool) -> Member:
        own = {name: row[name] for name in Member._fields if name in row}
        wiki = self._snapshot.wikis.get(row["source"], row["source"])
        return Member(**own, wiki=wiki, is_present=is_present)

    def _query(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        return query(self._snapshot.connection, self._of_type(sql), parameters)

    def _of_type(self, sql: str) -> str:
        """A query about the tables of this type, which lie in a schema of its name."""
        return sql.replace("of_type.", f'"{self._type}".')


def type_now(snapshot: Snapshot, entity_type: str) -> TypeNow:
    """The type as it is now; it is matched once as long as no entity is written."""
    if entity_type not in snapshot.matched:
        snapshot.matched[entity_type] = TypeNow(snapshot, entity_type)
    found = snapshot.matched[entity_type]
    assert isinstance(found, TypeNow)  # noqa: S101 - nothing else is put there
    return found
