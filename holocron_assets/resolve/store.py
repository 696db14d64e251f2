"""Reading and writing the knowledge base's tables, one entity type at a time."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

import duckdb

from holocron_assets.lake.keys import content_hash
from holocron_assets.lake.parquet import Footer, read_footer, read_partition, write_partition
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.schema import Row
from holocron_assets.lake.tables import ENTITIES, ENTITY_ALIASES, ENTITY_CANDIDATES
from holocron_assets.lake.versions import room_version
from holocron_assets.lake.views import connect, query
from holocron_assets.resolve.aliases import alias_rows
from holocron_assets.resolve.changes import EntityChanges, entity_changes
from holocron_assets.resolve.entities import current_rows, resolve_entities
from holocron_assets.resolve.promotion import DEFAULT_POLICY_FILE, load_policy
from holocron_assets.resolve.reviews import PageNow

ENTITIES_VERSION = room_version("holocron_assets.resolve")
ALIASES_VERSION = ENTITIES_VERSION

_CANDIDATE_COLUMNS = ", ".join(f'"{name}"' for name in ENTITY_CANDIDATES.arrow_schema.names)
_CANDIDATES = f"""
    select {_CANDIDATE_COLUMNS} from entity_candidates where entity_type = $type order by source, title
"""  # noqa: S608 - column names of our own
_ELSEWHERE = """
    select
        entity_id, entity_type, source, title, title_key, page_id, revision_id, state, review_reason,
        review_since, valid_from
    from entities
    where entity_type <> $type
"""
# What became of the pages that entities were last read from: of those that are no candidates under their
# title any more, and of those whose title had no page, or a redirect only, in between.
_PAGES_NOW = """
    with absent as (
        select answers.source, answers.title_key, max(answers.moment) as moment
        from answers join lake.pages as pages using (batch, position)
        where pages.status <> 'ok' or pages.redirect_target is not null
        group by all
    ),
    absent_since as (
        select distinct entities.entity_type, entities.entity_id
        from entities
        join answers as read on read.batch = entities.batch and read.title_key = entities.title_key
        join absent on absent.source = entities.source and absent.title_key = entities.title_key
        where read.status = 'ok' and absent.moment > read.moment
    ),
    asked as (
        select entity_type, entity_id, source, title_key, page_id, since.entity_id is not null as was_absent
        from entities left join absent_since as since using (entity_type, entity_id)
        where was_absent or not exists (
            from entity_candidates as candidates
            where candidates.entity_type = entities.entity_type
                and candidates.title_key = entities.title_key
                and candidates.page_id is not distinct from entities.page_id
        )
    ),
    found as (
        select asked.entity_id, asked.entity_type as held_as, 1 as place, pages.batch, pages.position
        from asked join current_pages as pages using (source, page_id)
        union all
        select asked.entity_id, asked.entity_type, 2, pages.batch, pages.position
        from asked join current_pages as pages using (source, title_key)
    )
    select
        asked.entity_type as held_as, asked.entity_id, was_absent,
        pages.title, pages.title_key, pages.page_id, pages.revision_id, pages.redirect_target,
        coalesce(types.primary_type, asked.entity_type) as entity_type
    from asked
    left join found on found.held_as = asked.entity_type and found.entity_id = asked.entity_id
    left join lake.pages as pages using (batch, position)
    left join lake.page_types as types on types.batch = pages.batch and types.title_key = pages.title_key
    where asked.entity_type = $type
    qualify row_number() over (partition by asked.entity_type, asked.entity_id order by place) = 1
"""
_CANDIDATE_MARKS = """
    select
        entity_type,
        count(*) || '-' || bit_xor(hash(
            batch, title_key, page_id, revision_id, name, continuity, confidence, method, rule_ids,
            needs_review, has_lead
        )) as mark
    from entity_candidates
    where coalesce(entity_type = $type, true)
    group by entity_type
"""
# A redirect whose title is an entity's, in any type, is no alias. It is left out here, so of the mark too:
# aliases are stale when it becomes one.
_REDIRECTS = """
    select
        signals.source, signals.title as from_title, signals.redirect_target as target_title,
        signals.revision_id
    from page_signals as signals
    semi join current_pages as current
        on signals.batch = current.batch and signals.title_key = current.title_key
    where signals.is_redirect
        and signals.redirect_target is not null
        and signals.title_key not in (select title_key from entities where state <> 'suppressed')
"""
_REDIRECTS_MARK = f"""
    select
        count(*) || '-' || coalesce(bit_xor(hash(source, from_title, target_title, revision_id)), 0) as mark
    from ({_REDIRECTS})
"""  # noqa: S608 - our own query


def stale_types(lake: Lake, entity_types: Sequence[str]) -> dict[str, str]:
    """Entity types whose entities or aliases are not what the lake would give today.

    A type that has neither candidates nor entities is not stale.

    Args:
        lake: where everything is.
        entity_types: the types to look at.

    Returns:
        For each stale type a mark of what it would be made from.
    """
    with connect(lake) as connection:
        candidates, redirects = _candidate_marks(connection), _redirects_mark(connection)
    return {
        name: f"{_entity_inputs(candidates, name)} {redirects}"
        for name in entity_types
        if _is_stale(lake, name, candidates, redirects)
    }


def store_entities(
    lake: Lake, entity_type: str, *, entity_types: AbstractSet[str], now: datetime, run_id: str
) -> tuple[Footer, list[Row], EntityChanges]:
    """Resolve one type's candidates against its standing entities, and write table `entities`.

    Args:
        lake: where candidates are and entities go.
        entity_type: the type; it names the partition.
        entity_types: all entity-worthy types, to validate the promotion policy by.
        now: the moment from which new rows are valid.
        run_id: the run that makes them.

    Returns:
        The new file's footer, all its rows, and what changed.

    Raises:
        PolicyError: the promotion policy is not valid.
    """
    standing = read_partition(lake, ENTITIES, entity_type) if lake.has(ENTITIES, entity_type) else []
    with connect(lake) as connection:
        # Marked before it is read: what is written in between makes the entities stale, not falsely fresh.
        marks = _candidate_marks(connection, entity_type)
        candidates = query(connection, _CANDIDATES, {"type": entity_type})
        elsewhere = query(connection, _ELSEWHERE, {"type": entity_type})
        pages = _pages_now(connection, entity_type)
    policy = load_policy(DEFAULT_POLICY_FILE, entity_types)
    rows = resolve_entities(
        entity_type,
        candidates,
        standing,
        policy=policy,
        now=now,
        run_id=run_id,
        elsewhere=elsewhere,
        pages=pages,
    )
    footer = write_partition(
        lake,
        ENTITIES,
        entity_type,
        rows,
        code_version=ENTITIES_VERSION,
        inputs=_entity_inputs(marks, entity_type),
    )
    return footer, rows, entity_changes(standing, rows)


def store_aliases(lake: Lake, entity_type: str) -> tuple[Footer, list[Row]]:
    """Write table `entity_aliases` for one type.

    Args:
        lake: where entities and redirects are and aliases go.
        entity_type: the type; it names the partition.

    Raises:
        MissingPartitionError: the type's entities were not resolved yet.
    """
    entities = read_footer(lake, ENTITIES, entity_type)
    standing = read_partition(lake, ENTITIES, entity_type)
    with connect(lake) as connection:
        mark = _redirects_mark(connection)
        redirects = query(connection, _REDIRECTS)
    rows = alias_rows(list(current_rows(standing).values()), redirects)
    footer = write_partition(
        lake,
        ENTITY_ALIASES,
        entity_type,
        rows,
        code_version=ALIASES_VERSION,
        inputs=_alias_inputs(entities, mark) if entities else {},
    )
    return footer, rows


def _is_stale(lake: Lake, entity_type: str, candidates: Mapping[str, str], redirects: str) -> bool:
    entities = read_footer(lake, ENTITIES, entity_type)
    if entities is None:
        return entity_type in candidates
    aliases = read_footer(lake, ENTITY_ALIASES, entity_type)
    made_from = (entities.code_version, dict(entities.inputs))
    return (
        aliases is None
        or made_from != (ENTITIES_VERSION, _entity_inputs(candidates, entity_type))
        or (aliases.code_version, dict(aliases.inputs))
        != (ALIASES_VERSION, _alias_inputs(entities, redirects))
    )


def _entity_inputs(candidates: Mapping[str, str], entity_type: str) -> dict[str, str]:
    """Fingerprints of what a type's entities are made from."""
    policy = content_hash(DEFAULT_POLICY_FILE.read_text(encoding="utf-8"))
    return {"candidates": candidates.get(entity_type, "none"), "policy": policy}


def _alias_inputs(entities: Footer, redirects: str) -> dict[str, str]:
    """Fingerprints of what a type's aliases are made from."""
    return {"entities": entities.content_id, "redirects": redirects}


def _candidate_marks(connection: duckdb.DuckDBPyConnection, entity_type: str | None = None) -> dict[str, str]:
    """A mark of the candidates of each type, or of one."""
    rows = query(connection, _CANDIDATE_MARKS, {"type": entity_type})
    return {row["entity_type"]: row["mark"] for row in rows}


def _pages_now(connection: duckdb.DuckDBPyConnection, entity_type: str) -> dict[tuple[str, str], PageNow]:
    """What became of pages, by the type and id of their entities."""
    return {
        (row["held_as"], row["entity_id"]): PageNow(row if row["title"] else None, row["was_absent"])
        for row in query(connection, _PAGES_NOW, {"type": entity_type})
    }


def _redirects_mark(connection: duckdb.DuckDBPyConnection) -> str:
    mark: str = query(connection, _REDIRECTS_MARK)[0]["mark"]
    return mark
