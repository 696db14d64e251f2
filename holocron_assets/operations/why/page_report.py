"""Everything known about one page."""

from collections.abc import Sequence
from typing import Any

from holocron_assets.crawl.frontier.views import frontier_tables_of
from holocron_assets.crawl.sources.source import Source
from holocron_assets.decisions.log import all_decisions, undone
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES
from holocron_assets.lake.tables.classify import MODEL_TABLE
from holocron_assets.lake.views.database import connect, query
from holocron_assets.operations.why.answers import NOTHING_KNOWN, at, not_served_yet

_PAGE_QUERIES = {
    "revisions": """
        select batch, status, revision_id, revision_at, fetched_at, attempts, error, redirect_target, depth,
               discovered_from, size_bytes, run_id
        from pages where title_key = $key or requested_key = $key order by fetched_at
    """,
    "signals": """
        select signals.* exclude (source, title, title_key)
        from page_signals as signals
        semi join current_pages as current using (batch, title_key)
        where title_key = $key
    """,
    "classifications": """
        select method, primary_type, confidence, needs_review, evidence, rules_version, batch
        from rule_classifications where title_key = $key
    """,
    "decisions": """
        with here as (select source, page_id from current_pages where title_key = $key),
        said as (
            select fact_id as statement_id, decision_id from all_entity_facts where title_key = $key
            union all
            select relation_id, decision_id from all_entity_relations where title_key = $key
        )
        select
            made.decision_id, made.kind, made.value, made.title, made.other_title, made.undoes, made.author,
            made.reason, made.decided_at
        from decisions as made
        left join decisions as undone on undone.decision_id = made.undoes
        where case
            -- A statement goes with its page when that moves. The title is the one of the day.
            when coalesce(made.statement_id, undone.statement_id) is not null
            then coalesce(made.statement_id, undone.statement_id) in (select statement_id from said)
                or made.decision_id in (select decision_id from said)
            else (made.title_key = $key and not exists (from here where here.page_id <> made.page_id))
                or exists (from here where here.source = made.source and here.page_id = made.page_id)
                or made.other_id in (select entity_id from entities where title_key = $key)
        end
        order by made.decision_id
    """,
    "type": "select * exclude (source, title, title_key) from page_types where title_key = $key",
    "predictions": """
        select
            primary_type, probability, second_type, second_probability, is_familiar, abstains, reasons,
            model_version
        from type_predictions where title_key = $key
    """,
    "proposals": """
        select kind, title, settles, proposed_type
        from type_proposals
        where list_contains(open_keys, $key) and (kind = 'template' or proposed_type is not null)
        order by kind = 'template' desc, settles desc, title
        limit 3
    """,
    "entities": """
        select
            entities.entity_id, entities.entity_type, entities.name, entities.continuity, entities.state,
            entities.merged_into, survivors.name as merged_into_name, entities.state_by,
            entities.state_reason, entities.review_reason, entities.review_since, entities.valid_from,
            entities.revision_id
        from entities left join entities as survivors on entities.merged_into = survivors.entity_id
        where entities.title_key = $key
        order by entities.state = 'suppressed', entities.valid_from
    """,
    "aliases": """
        select alias, kind, from_title from entity_aliases
        where entity_id in (select entity_id from entities where title_key = $key)
        order by kind, alias
    """,
    "frontier": "select status, reason, depth, inbound, due_at from frontier where title_key = $key",
    "batches": "select batch, reason, cut_at from lake.batch_pages where title_key = $key order by cut_at",
    "dead_letters": """
        select stage, batch, attempts, error, died_at
        from dead_letters where title_key = $key order by died_at
    """,
    "tracebacks": """
        select stage, scope, item, error, traceback, failed_at
        from tracebacks
        where split_part(item, '#', 1) = $key::varchar
            or item in (select entity_id from entities where title_key = $key)
        order by failed_at
    """,
    "linked_from": "select count(*) as pages from page_links where target_key = $key",
}

_PAGE_RELATIONS = (
    *("pages", "page_signals", "current_pages", "rule_classifications", "decisions"),
    *("page_types", "type_predictions", "entities", "entity_aliases", "lake.batch_pages", "dead_letters"),
    *("page_links", "tracebacks", "type_proposals", "all_entity_facts", "all_entity_relations"),
)
"""Relations that these queries read, beside the views of the frontier."""

_MODELS_ANSWER = f"""
    select
        model, primary_type, needs_review, supported, rationale, description, tags, confidence, types,
        work_medium, canon_context, model_digest, result_key, batch, run_id
    from {MODEL_TABLE} where title_key = $key
"""  # noqa: S608 - a name of our own


def page_report(lake: Lake, sources: Sequence[Source], source: str, title: str) -> dict[str, Any]:
    """Everything known about one page of a source.

    Args:
        lake: what is known.
        sources: all sources; their settings say which pages are in reach.
        source: the page's source.
        title: its canonical title.

    Returns:
        Rows by topic (revisions, signals, classifications, models_answers, decisions, type, predictions,
        proposals, entities, aliases, frontier, batches, dead_letters, tracebacks, linked_from), and `stuck`:
        how far the page came and what it waits for, in a sentence.
    """
    key = title_key(source, title)
    is_asked = lake.derived_table(MODEL_TABLE)
    relations = (*_PAGE_RELATIONS, MODEL_TABLE) if is_asked else _PAGE_RELATIONS
    frontier = frontier_tables_of(lake, [one for one in sources if one.name == source])
    with connect(
        lake, relations=relations, more_views=frontier, made_once=("superseded_answers",), kind="own"
    ) as connection:
        connection.execute("set parquet_metadata_cache = true")  # each file is opened about twelve times
        topics = {name: query(connection, sql, {"key": key}) for name, sql in _PAGE_QUERIES.items()}
        topics["models_answers"] = query(connection, _MODELS_ANSWER, {"key": key}) if is_asked else []
    gone = undone(all_decisions(lake)) if topics["decisions"] else set()
    topics["decisions"] = [{**row, "counts": row["decision_id"] not in gone} for row in topics["decisions"]]
    stuck = " ".join([_where_it_stands(topics), *_what_is_lost(topics)])
    return {"source": source, "title": title, "stuck": stuck, **topics}


def _what_is_lost(topics: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Sentences about the stages that were given up for a page that was fetched."""
    lost = [letter for letter in topics["dead_letters"] if letter["stage"] != PAGES.name]
    sentences = [f"Given up for {letter['stage']}: {letter['error']}." for letter in lost]
    return [*sentences, "`holocron requeue` brings it back."] if sentences else []


def _where_it_stands(topics: dict[str, list[dict[str, Any]]]) -> str:
    if topics["entities"]:
        entity = topics["entities"][0]
        text = f"It is a {entity['state']} entity of type {entity['entity_type']}: {entity['state_reason']}."
        if entity["merged_into"]:
            text = f"{text} It was merged into {entity['merged_into_name']!r}, {entity['merged_into']}."
        reason = entity["review_reason"]
        return f"{text} A person should look at it: {reason}." if reason else text
    if topics["type"]:
        page = topics["type"][0]
        sure = f"typed {page['primary_type']} at {page['confidence']:.2f}: {page['reason']}"
        return f"It has no entity. It is {sure}."
    if not topics["frontier"]:
        return NOTHING_KNOWN
    return _where_it_waits(topics["frontier"][0], topics["revisions"])


def _where_it_waits(frontier: dict[str, Any], revisions: list[dict[str, Any]]) -> str:
    reason = frontier["reason"]
    match frontier["status"]:
        case "waiting" if reason == "changed":
            return not_served_yet(frontier["due_at"])
        case "waiting":
            return f"It failed, and is due again at {at(frontier['due_at'])}: {reason}"
        case "dead":
            return f"It is dead-lettered: {reason}. `holocron requeue` brings it back."
        case "done":
            return f"It was asked for, and is {revisions[-1]['status']}."
        case status:
            return f"It is {status}: {reason}." if reason else f"It is {status}."
