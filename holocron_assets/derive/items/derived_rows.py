"""Makes rows of the interrogation's table from an answer."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holocron_assets.derive.interrogations.answer_schema import fitting
from holocron_assets.derive.interrogations.derived_tables import split_schema
from holocron_assets.derive.interrogations.interrogation import Interrogation

if TYPE_CHECKING:
    from holocron_assets.derive.items.items import Item


def derived_rows(
    item: "Item", answer: Mapping[str, Any], *, model: str, digest: str, run_id: str
) -> list[dict[str, Any]]:
    """The rows of an answer about an item.

    Args:
        item: what was asked about.
        answer: the model's answer; it fits the interrogation's schema.
        model: the model that gave it.
        digest: the model's digest.
        run_id: the run that makes the rows.

    Returns:
        Rows of the interrogation's table. A row says whether all of its quotes are in the page's text.
    """
    common = {
        **item.row,
        "item_id": item.item_id,
        "model": model,
        "model_digest": digest,
        "result_key": item.result_key(digest),
        "run_id": run_id,
    }
    quotes = item.interrogation.rows.quotes
    return [
        {
            **common,
            "position": position,
            **values,
            "supported": all(item.supports(values[name] or "") for name in quotes),
        }
        for position, values in enumerate(answer_rows(item.interrogation, answer))
    ]


def answer_rows(interrogation: Interrogation, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The answer itself, row by row: the values of the interrogation's own columns."""
    schema, each = interrogation.answer_schema, interrogation.rows.each
    if each is None:
        return [fitting(answer, schema)]
    around, one = split_schema(schema, each)
    shared = fitting(answer, around)
    return [{**shared, **fitting(part, one)} for part in answer[each]]
