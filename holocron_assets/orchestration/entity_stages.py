"""The stages of the knowledge base, in the order in which they follow from each other.

Those by entity type come first. Identity is only ever decided inside one type, so each stage is made for all
types before the next one begins. A page that is of another type now is given up by one type and taken by
another: the stage of departures says so before anything is compared, so that the order of the types does not
matter.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from holocron_assets.lake.clock import utc_now
from holocron_assets.lake.parquet import Footer
from holocron_assets.lake.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_CANDIDATES,
    ENTITY_DEPARTURES,
    ENTITY_FACTS,
    ENTITY_JUDGEMENTS,
    ENTITY_MENTIONS,
    ENTITY_PAIRS,
    ENTITY_RELATIONS,
    ENTITY_TAGS,
    PAGE_FACTS,
    PAGE_LINKS,
    PAGE_SIGNALS,
    PAGE_TAGS,
    PAGE_TYPES,
    REVIEW_ITEMS,
    SITES,
    TAG_RELATIONS,
    TAGS,
)
from holocron_assets.orchestration.metadata import large_metadata, written_metadata
from holocron_assets.orchestration.partitions import TYPES
from holocron_assets.orchestration.stages import Stage
from holocron_assets.resolve.departures import DEPARTURES_VERSION, stale_departures, store_departures
from holocron_assets.resolve.facts.model_tables import FACTS as MODEL_FACTS
from holocron_assets.resolve.facts.model_tables import LISTED
from holocron_assets.resolve.facts.model_tables import RELATIONS as MODEL_RELATIONS
from holocron_assets.resolve.facts.store import (
    FACTS_VERSION,
    stale_facts,
    stale_relations,
    store_facts,
    store_relations,
)
from holocron_assets.resolve.judgement_store import (
    CHECKS_NAME,
    JUDGEMENTS_VERSION,
    stale_judgements,
    store_judgements,
)
from holocron_assets.resolve.look import Look
from holocron_assets.resolve.mention_search import EXTRACTION
from holocron_assets.resolve.mention_store import MENTIONS_VERSION, stale_mentions, store_mentions
from holocron_assets.resolve.pair_store import PAIRS_VERSION, stale_pairs, store_pairs
from holocron_assets.resolve.review.store import REVIEW_VERSION, stale_review, store_review
from holocron_assets.resolve.store import (
    ALIASES_VERSION,
    ENTITIES_VERSION,
    stale_aliases,
    stale_entities,
    store_aliases,
    store_entities,
)
from holocron_assets.resolve.tags.store import (
    TAGS_VERSION,
    stale_entity_tags,
    stale_tag_relations,
    stale_tags,
    store_entity_tags,
    store_tag_relations,
    store_tags,
)
from holocron_assets.settings import tags_file

_Made = tuple[Footer, dict[str, Any]]

_EVERY_TYPE = frozenset(TYPES)


def _mentions(look: Look, entity_type: str, run_id: str) -> _Made:
    footer, rows = store_mentions(look, entity_type, run_id)
    kept_out = look.mentions.kept_out.get(entity_type, {})
    return footer, {
        **written_metadata(footer, rows, counted="method", titles="name"),
        **{f"kept out: {reason}": count for reason, count in sorted(kept_out.items())},
    }


def _departures(look: Look, entity_type: str, run_id: str) -> _Made:
    footer, rows = store_departures(look, entity_type, run_id)
    return footer, written_metadata(footer, rows, counted="to_type")


def _pairs(look: Look, entity_type: str, _run_id: str) -> _Made:
    footer, rows = store_pairs(look, entity_type, entity_types=_EVERY_TYPE)
    return footer, written_metadata(footer, rows, counted="verdict", titles="first_title")


def _judgements(look: Look, entity_type: str, _run_id: str) -> _Made:
    footer, rows = store_judgements(look, entity_type, entity_types=_EVERY_TYPE, now=utc_now())
    metadata = written_metadata(footer, rows, counted="judgement", titles="pair_id")
    return footer, {**metadata, "refused": sum(row["refused"] is not None for row in rows)}


def _entities(look: Look, entity_type: str, run_id: str) -> _Made:
    footer, rows, changes = store_entities(
        look, entity_type, entity_types=_EVERY_TYPE, now=utc_now(), run_id=run_id
    )
    shown = rows.filter(pc.is_null(rows.column("valid_to"))).select(["name", "state", "review_reason"])
    current = shown.to_pylist()
    return footer, {
        **written_metadata(footer, current, counted="state", titles="name"),
        "entities": len(current),
        "history_rows": rows.num_rows,
        "for_review": sum(row["review_reason"] is not None for row in current),
        "new": changes.new,
        "changed": changes.changed,
        "suppressed": changes.suppressed,
        "returned": changes.returned,
        "unchanged": changes.unchanged,
    }


def _aliases(look: Look, entity_type: str, _run_id: str) -> _Made:
    footer, rows = store_aliases(look, entity_type)
    return footer, written_metadata(footer, rows, counted="kind", titles="alias")


def _facts(look: Look, entity_type: str, run_id: str) -> _Made:
    footer, rows = store_facts(look, entity_type, run_id)
    metadata = large_metadata(look.lake, ENTITY_FACTS, entity_type, footer, counted="fact_key")
    return footer, {**metadata, **_by_status(rows), "disputed": _count(rows["is_disputed"])}


def _relations(look: Look, entity_type: str, run_id: str) -> _Made:
    footer, rows = store_relations(look, entity_type, run_id)
    metadata = large_metadata(look.lake, ENTITY_RELATIONS, entity_type, footer, counted="relation")
    return footer, {**metadata, **_by_status(rows), "other_known": _count(pc.is_valid(rows["to_id"]))}


def _by_status(rows: pa.Table) -> dict[str, int]:
    counted = rows["status"].value_counts().to_pylist()
    return {f"status: {each['values']}": each["counts"] for each in counted}


def _count(flags: pa.ChunkedArray) -> int:
    return int(pc.sum(flags).as_py() or 0)


def _entity_tags(look: Look, entity_type: str, run_id: str) -> _Made:
    footer = store_entity_tags(look, entity_type, tags_file(), run_id)
    return footer, large_metadata(
        look.lake, ENTITY_TAGS, entity_type, footer, counted="method", titles="tag_id"
    )


def _tags(look: Look, source: str, _run_id: str) -> _Made:
    footer = store_tags(look, source, tags_file())
    return footer, large_metadata(look.lake, TAGS, source, footer, counted="visibility", titles="name")


def _tag_relations(look: Look, source: str, _run_id: str) -> _Made:
    footer = store_tag_relations(look, source, tags_file())
    return footer, large_metadata(
        look.lake, TAG_RELATIONS, source, footer, counted="relation", titles="from_tag"
    )


def _review(look: Look, source: str, _run_id: str) -> _Made:
    footer, rows = store_review(look.lake, source)
    return footer, written_metadata(footer, rows, counted="kind", titles="subject")


BY_TYPE: tuple[Stage, ...] = (
    Stage(
        ENTITY_MENTIONS,
        "entities",
        MENTIONS_VERSION,
        inputs=(),
        whole_inputs=(EXTRACTION, PAGE_LINKS.name, PAGE_SIGNALS.name, ENTITY_CANDIDATES.name),
        stale=stale_mentions,
        store=_mentions,
    ),
    Stage(
        ENTITY_DEPARTURES,
        "entities",
        DEPARTURES_VERSION,
        inputs=(),
        whole_inputs=(PAGE_TYPES.name, ENTITY_CANDIDATES.name),
        stale=stale_departures,
        store=_departures,
    ),
    Stage(
        ENTITY_PAIRS,
        "entities",
        PAIRS_VERSION,
        inputs=(ENTITY_MENTIONS.name,),
        whole_inputs=(ENTITY_CANDIDATES.name, ENTITY_DEPARTURES.name, PAGE_SIGNALS.name, PAGE_FACTS.name),
        stale=stale_pairs,
        store=_pairs,
    ),
    Stage(
        ENTITY_JUDGEMENTS,
        "entities",
        JUDGEMENTS_VERSION,
        inputs=(ENTITY_PAIRS.name, CHECKS_NAME),
        whole_inputs=(ENTITY_DEPARTURES.name,),
        stale=stale_judgements,
        store=_judgements,
    ),
    Stage(
        ENTITIES,
        "entities",
        ENTITIES_VERSION,
        inputs=(ENTITY_MENTIONS.name, ENTITY_JUDGEMENTS.name),
        whole_inputs=(ENTITY_CANDIDATES.name, ENTITY_DEPARTURES.name),
        stale=stale_entities,
        store=_entities,
    ),
    Stage(
        ENTITY_ALIASES,
        "entities",
        ALIASES_VERSION,
        inputs=(ENTITIES.name, ENTITY_MENTIONS.name),
        whole_inputs=(PAGE_SIGNALS.name, PAGE_FACTS.name),
        stale=stale_aliases,
        store=_aliases,
    ),
    Stage(
        ENTITY_FACTS,
        "entities",
        FACTS_VERSION,
        inputs=(ENTITIES.name, ENTITY_MENTIONS.name),
        whole_inputs=(PAGE_FACTS.name, MODEL_FACTS, LISTED),
        stale=stale_facts,
        store=_facts,
    ),
    Stage(
        ENTITY_RELATIONS,
        "entities",
        FACTS_VERSION,
        inputs=(ENTITIES.name, ENTITY_ALIASES.name),
        whole_inputs=(PAGE_FACTS.name, PAGE_LINKS.name, MODEL_RELATIONS),
        stale=stale_relations,
        store=_relations,
    ),
    Stage(
        ENTITY_TAGS,
        "tags",
        TAGS_VERSION,
        inputs=(ENTITIES.name,),
        whole_inputs=(PAGE_TAGS.name,),
        stale=lambda look, names: stale_entity_tags(look, names, tags_file()),
        store=_entity_tags,
    ),
)
"""By entity type: what lists name, who is who, and what is said of them."""

BY_SOURCE: tuple[Stage, ...] = (
    Stage(
        TAGS,
        "tags",
        TAGS_VERSION,
        inputs=(),
        whole_inputs=(PAGE_TAGS.name, PAGE_SIGNALS.name),
        stale=lambda look, names: stale_tags(look, names, tags_file()),
        store=_tags,
    ),
    Stage(
        TAG_RELATIONS,
        "tags",
        TAGS_VERSION,
        inputs=(),
        whole_inputs=(PAGE_TAGS.name, PAGE_SIGNALS.name),
        stale=lambda look, names: stale_tag_relations(look, names, tags_file()),
        store=_tag_relations,
    ),
    Stage(
        REVIEW_ITEMS,
        "review",
        REVIEW_VERSION,
        inputs=(),
        whole_inputs=(
            *(PAGE_TYPES.name, ENTITY_JUDGEMENTS.name, ENTITIES.name),
            *(ENTITY_FACTS.name, ENTITY_RELATIONS.name),
        ),
        stale=lambda look, names: stale_review(look.lake, names),
        store=_review,
    ),
)
"""By source: what follows from all that."""

STAGES = (*BY_TYPE, *BY_SOURCE)


def partitions_of(lake: Lake, stage: Stage) -> Sequence[str]:
    """The partitions that a stage may have."""
    return lake.partitions(SITES) if stage in BY_SOURCE else TYPES


def stale_partitions(look: Look, stages: Sequence[Stage]) -> dict[str, list[str]]:
    """Stale partitions of some stages by table, without those that have none."""
    found = {stage.name: stage.stale(look, partitions_of(look.lake, stage)) for stage in stages}
    return {name: stale for name, stale in found.items() if stale}
