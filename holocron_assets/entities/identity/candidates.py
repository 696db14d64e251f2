"""Which pages may stand for an entity."""

from collections.abc import Set as AbstractSet

from holocron_assets.entities.promotion import entity_from
from holocron_assets.lake.declaration.schema import Row

SURE_ENOUGH = 0.80
"""Confidence from which a page's type is settled."""

NEVER_ENTITIES = frozenset({"ReferenceMeta", "TechnicalSitePage", "Unknown"})
"""Types of pages about the wiki itself, or about nothing known: no taxonomy can make them entities."""

_FROM_PAGE_TYPE = (
    "source",
    "batch",
    "title",
    "title_key",
    "confidence",
    "method",
    "rule_ids",
    "needs_review",
)


def candidate_row(page_type: Row, signals: Row, run_id: str, *, entity_types: AbstractSet[str]) -> Row | None:
    """The row of `entity_candidates` for a page, if it may stand for an entity.

    Args:
        page_type: the page's row of `page_types`.
        signals: the same revision's row of `page_signals`.
        run_id: the run that makes the row.
        entity_types: the taxonomy's entity-worthy types.

    Returns:
        The row, or None for redirects, unsure pages and types that are not entity-worthy.

    Raises:
        ValueError: the two rows are not about the same revision of the same page.
    """
    _refuse_other_revision(page_type, signals)
    entity_type = page_type["primary_type"]
    worthy = entity_type in entity_types and entity_type not in NEVER_ENTITIES
    if not worthy or signals["is_redirect"] or page_type["confidence"] < entity_from(entity_type):
        return None
    return {
        **{column: page_type[column] for column in _FROM_PAGE_TYPE},
        "page_id": page_type.get("page_id"),
        "revision_id": page_type.get("revision_id"),
        "entity_type": entity_type,
        "name": signals["name"],
        "continuity": signals["continuity"],
        "has_lead": signals["lead_length"] > 0,
        "run_id": run_id,
    }


def _refuse_other_revision(page_type: Row, signals: Row) -> None:
    typed, read = (
        (row["source"], row["title"], row.get("revision_id"), row["batch"]) for row in (page_type, signals)
    )
    if typed != read:
        raise ValueError(
            "page_types and page_signals differ in (source, title, revision, batch): "
            f"{typed} and {read}; materialize page_signals and page_types of these batches again"
        )
