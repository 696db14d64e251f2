"""Evidence that is searched: an interrogation of its own finds it, and says why it ranks there."""

from typing import Any

from holocron_assets.derive.evidence.specs import MOST_ITEM_BYTES, MOST_PASSAGES, SearchEvidence
from holocron_assets.derive.interrogations.interrogation import Interrogation

_LONGEST_NAME = 1_000
_LONGEST_HEADING = 10_000
_MOST_HEADINGS = 20
_LAST = 2**53 - 1


def with_search(interrogation: Interrogation) -> tuple[Interrogation, ...]:
    """An interrogation, and the one of kind 'search' that finds its evidence, if it has such evidence.

    The search is about the same pages, pairs or entities. The interrogation builds on its answers, as on any
    others: an item is asked about again when its passages change, and not whenever the index does.

    Raises:
        ValueError: it names two searches.
    """
    searches = [spec for spec in interrogation.evidence if isinstance(spec, SearchEvidence)]
    if not searches:
        return (interrogation,)
    if len(searches) > 1:
        raise ValueError("evidence: a second search: an interrogation has one at most")
    [search] = searches
    shadow = f"_{interrogation.version}" if interrogation.shadow else ""
    key = f"{interrogation.key}_passages{shadow}"
    finding = Interrogation.model_validate(
        {
            "key": key,
            "version": 1,
            "title": f"A passage that {interrogation.name} is shown",
            "kind": "search",
            "priority": interrogation.priority,
            "enabled": interrogation.enabled,
            "domain": interrogation.domain,
            "over": interrogation.over,
            "wants": interrogation.wants,
            "search": search,
            "answer_schema": ANSWER_SCHEMA,
            "rows": {"each": "passages"},
        }
    )
    evidence = tuple(
        spec.found_by(key) if isinstance(spec, SearchEvidence) else spec for spec in interrogation.evidence
    )
    inputs = (*interrogation.inputs, key)
    return interrogation.model_copy(update={"evidence": evidence, "inputs": inputs}), finding


def _text(longest: int, description: str) -> dict[str, Any]:
    return {"type": "string", "maxLength": longest, "description": description}


def _place(description: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 0, "maximum": _LAST, "description": description}


_PASSAGE = {
    "passage_id": _text(32, "The passage, as in table `page_chunks`"),
    "from_title": _text(_LONGEST_NAME, "Title of the page that has it"),
    "from_source": _text(_LONGEST_NAME, "Source of that page"),
    "from_revision_id": _place("Revision of that page; empty if its dump names none"),
    "headings": {
        "type": "array",
        "maxItems": _MOST_HEADINGS,
        "items": _text(_LONGEST_HEADING, "A heading"),
        "description": "The headings that it stands under, the outermost first",
    },
    "start_offset": _place("Where it begins in the page's text, in characters"),
    "end_offset": _place("Where it ends"),
    "text": _text(MOST_ITEM_BYTES, "The passage"),
    "score": {
        "type": "number",
        "minimum": 0,
        "maximum": _LAST,
        "description": "What passages of this search are ordered by; the highest first",
    },
    "matched_by": _text(40, "What found it: 'words', 'meaning', or both"),
}
_REQUIRED = [name for name in _PASSAGE if name != "from_revision_id"]
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "passages": {
            "type": "array",
            "maxItems": MOST_PASSAGES,
            "description": "The passages that were found, the best first",
            "items": {"type": "object", "properties": _PASSAGE, "required": _REQUIRED},
        }
    },
    "required": ["passages"],
}
"""What a search answers about one item."""
