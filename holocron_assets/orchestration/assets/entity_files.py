"""How each stage of the knowledge base writes one partition's file, and the metadata of its event."""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from holocron_assets.classify.learned.plots import calibration_picture, confusion_picture
from holocron_assets.classify.learned.proposals import store_type_proposals
from holocron_assets.classify.learned.store import store_type_model, store_type_predictions
from holocron_assets.entities.departures import store_departures
from holocron_assets.entities.facts.store import (
    store_facts,
    store_relations,
)
from holocron_assets.entities.identity.judgement_store import (
    store_judgements,
)
from holocron_assets.entities.identity.pair_store import store_pairs
from holocron_assets.entities.mentions.store import store_mentions
from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.entities.store import (
    store_aliases,
    store_entities,
)
from holocron_assets.entities.tags.store import (
    store_entity_tags,
    store_tag_relations,
    store_tags,
)
from holocron_assets.lake.files.parquet import Footer
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_DEPARTURES,
    ENTITY_FACTS,
    ENTITY_JUDGEMENTS,
    ENTITY_MENTIONS,
    ENTITY_PAIRS,
    ENTITY_RELATIONS,
    ENTITY_TAGS,
    REVIEW_ITEMS,
    TAG_RELATIONS,
    TAGS,
    TYPE_MODEL,
    TYPE_PREDICTIONS,
    TYPE_PROPOSALS,
)
from holocron_assets.orchestration.assets.events import Stored
from holocron_assets.orchestration.assets.metadata import large_metadata, picture, timing, written_metadata
from holocron_assets.planning.entity_stages import TYPES, Stage
from holocron_assets.review.store import store_review
from holocron_assets.settings import tags_file

_Made = tuple[Footer, dict[str, Any]]

_EVERY_TYPE = frozenset(TYPES)


def _mentions(snapshot: Snapshot, entity_type: str, run_id: str) -> _Made:
    footer, rows = store_mentions(snapshot, entity_type, run_id)
    kept_out = snapshot.mentions.kept_out.get(entity_type, {})
    return footer, {
        **written_metadata(footer, rows, counted="method", titles="name"),
        **{f"kept out: {reason}": count for reason, count in sorted(kept_out.items())},
    }


def _departures(snapshot: Snapshot, entity_type: str, run_id: str) -> _Made:
    footer, rows = store_departures(snapshot, entity_type, run_id)
    return footer, written_metadata(footer, rows, counted="to_type")


def _pairs(snapshot: Snapshot, entity_type: str, _run_id: str) -> _Made:
    footer, rows = store_pairs(snapshot, entity_type, entity_types=_EVERY_TYPE)
    return footer, written_metadata(footer, rows, counted="verdict", titles="first_title")


def _judgements(snapshot: Snapshot, entity_type: str, _run_id: str) -> _Made:
    footer, rows = store_judgements(snapshot, entity_type, entity_types=_EVERY_TYPE, now=utc_now())
    metadata = written_metadata(footer, rows, counted="judgement", titles="pair_id")
    return footer, {**metadata, "refused": sum(row["refused"] is not None for row in rows)}


def _entities(snapshot: Snapshot, entity_type: str, run_id: str) -> _Made:
    footer, rows, changes = store_entities(
        snapshot, entity_type, entity_types=_EVERY_TYPE, now=utc_now(), run_id=run_id
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


def _aliases(snapshot: Snapshot, entity_type: str, _run_id: str) -> _Made:
    footer, rows = store_aliases(snapshot, entity_type)
    return footer, written_metadata(footer, rows, counted="kind", titles="alias")


def _facts(snapshot: Snapshot, entity_type: str, run_id: str) -> _Made:
    footer, rows = store_facts(snapshot, entity_type, run_id)
    metadata = large_metadata(snapshot.lake, ENTITY_FACTS, entity_type, footer, counted="fact_key")
    return footer, {**metadata, **_by_status(rows), "disputed": _count(rows["is_disputed"])}


def _relations(snapshot: Snapshot, entity_type: str, run_id: str) -> _Made:
    footer, rows = store_relations(snapshot, entity_type, run_id)
    metadata = large_metadata(snapshot.lake, ENTITY_RELATIONS, entity_type, footer, counted="relation")
    return footer, {**metadata, **_by_status(rows), "other_known": _count(pc.is_valid(rows["to_id"]))}


def _by_status(rows: pa.Table) -> dict[str, int]:
    counted = rows["status"].value_counts().to_pylist()
    return {f"status: {each['values']}": each["counts"] for each in counted}


def _count(flags: pa.ChunkedArray) -> int:
    return int(pc.sum(flags).as_py() or 0)


def _entity_tags(snapshot: Snapshot, entity_type: str, run_id: str) -> _Made:
    footer = store_entity_tags(snapshot, entity_type, tags_file(), run_id)
    return footer, large_metadata(
        snapshot.lake, ENTITY_TAGS, entity_type, footer, counted="method", titles="tag_id"
    )


def _tags(snapshot: Snapshot, source: str, _run_id: str) -> _Made:
    footer = store_tags(snapshot, source, tags_file())
    return footer, large_metadata(snapshot.lake, TAGS, source, footer, counted="visibility", titles="name")


def _tag_relations(snapshot: Snapshot, source: str, _run_id: str) -> _Made:
    footer = store_tag_relations(snapshot, source, tags_file())
    return footer, large_metadata(
        snapshot.lake, TAG_RELATIONS, source, footer, counted="relation", titles="from_tag"
    )


def _type_model(snapshot: Snapshot, source: str, _run_id: str) -> _Made:
    footer, evaluation = store_type_model(snapshot.lake, source)
    learned = {"dagster/row_count": footer.rows, "content_id": footer.content_id}
    if evaluation is None:
        return footer, {**learned, "settled_pages": 0}
    return footer, {
        **learned,
        "settled_pages": evaluation.pages,
        "types": len(evaluation.types),
        "macro_f1": round(evaluation.macro_f1, 4),
        "calibration_error": round(evaluation.calibration_error, 4),
        "calibration": picture(calibration_picture(evaluation), "Share of right answers by probability"),
        "confusion": picture(confusion_picture(evaluation), "Pages by their type and by the model's answer"),
    }


def _type_predictions(snapshot: Snapshot, source: str, _run_id: str) -> _Made:
    footer = store_type_predictions(snapshot.lake, source)
    return footer, large_metadata(snapshot.lake, TYPE_PREDICTIONS, source, footer, counted="primary_type")


def _type_proposals(snapshot: Snapshot, source: str, _run_id: str) -> _Made:
    footer, rows = store_type_proposals(snapshot.lake, source)
    return footer, written_metadata(footer, rows, counted="kind")


def _review(snapshot: Snapshot, source: str, _run_id: str) -> _Made:
    footer, rows = store_review(snapshot.lake, source)
    return footer, written_metadata(footer, rows, counted="kind", titles="subject")


STORES: Mapping[str, Callable[[Snapshot, str, str], _Made]] = {
    ENTITY_MENTIONS.name: _mentions,
    ENTITY_DEPARTURES.name: _departures,
    ENTITY_PAIRS.name: _pairs,
    ENTITY_JUDGEMENTS.name: _judgements,
    ENTITIES.name: _entities,
    ENTITY_ALIASES.name: _aliases,
    ENTITY_FACTS.name: _facts,
    ENTITY_RELATIONS.name: _relations,
    ENTITY_TAGS.name: _entity_tags,
    TAGS.name: _tags,
    TAG_RELATIONS.name: _tag_relations,
    TYPE_MODEL.name: _type_model,
    TYPE_PREDICTIONS.name: _type_predictions,
    TYPE_PROPOSALS.name: _type_proposals,
    REVIEW_ITEMS.name: _review,
}
"""By stage, the function that writes a partition in a run. It gives the file's footer and metadata."""


def stored(stage: Stage, snapshot: Snapshot, partition: str, run_id: str) -> Stored:
    """Write one partition of a stage, and time it.

    Args:
        stage: the stage.
        snapshot: of the lake.
        partition: an entity type, or a source.
        run_id: the run that writes it.
    """
    started = perf_counter()
    footer, metadata = STORES[stage.name](snapshot, partition, run_id)
    return Stored(footer, {**metadata, **timing(footer, perf_counter() - started)})
