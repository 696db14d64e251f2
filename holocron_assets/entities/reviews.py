"""When a person should review an entity: its page changed in an important way, and no error explains it."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.entities.identity.candidates import SURE_ENOUGH
from holocron_assets.entities.promotion import entity_from
from holocron_assets.lake.declaration.schema import Row

IN_DISPUTE = "type in dispute"
"""Part of the reason while an entity keeps its type though its page has another type now."""

ACROSS_TYPES = "merged across types"
"""Part of the reason while a person's merge is not followed, since the two have two types."""

_DELETED, _REDIRECTED = "page deleted", "page became a redirect to"
_BY_A_PERSON = "person"
_SAYS_NOTHING = "Unknown"
_ANSWER_OF: Mapping[str, str] = {"model": "model", "learned": "learned_type"}
"""Methods whose answers about an edited page come later, and the value that the page has once they came."""


class PageNow(NamedTuple):
    """The present state of the page that an entity was last read from.

    Attributes:
        page: as it is now, for `review_reason`.
        was_absent: whether the wiki said since then that the title has no page, or only a redirect.
    """

    page: Row | None
    was_absent: bool


def review_reason(
    before: Row, page: Row | None, *, was_absent: bool, kept: AbstractSet[str] = frozenset()
) -> str | None:
    """Why a person should review an entity now; None if its page was only edited, or read otherwise.

    Args:
        before: its row of `entities` until now.
        page: its page as it is now, with `title`, `page_id`, `revision_id`, `entity_type` (of the page,
            certain or not), its `confidence` and `method`, the `model` that was asked and the `learned_type`
            if there are any and, if it is a redirect, `redirect_target`; None if the wiki has none.
        was_absent: as in `PageNow`.
        kept: as for `is_disputed`.

    Returns:
        The reason, naming titles and types.
    """
    if page is None:
        return _DELETED
    if target := page.get("redirect_target"):
        return f"{_REDIRECTED} {target!r}"
    moved, retyped = _moved(before, page), _retyped(before, page, kept)
    is_another = retyped is not None and _is_another_at_its_title(before, page)
    restored = "page restored" if was_absent and not moved and not is_another else None
    return "; ".join(reason for reason in (moved, restored, retyped) if reason) or None


def has_its_page(entity: Row) -> bool:
    """Whether the page of an entity was there, and was no redirect, when it was last resolved."""
    return not (entity["review_reason"] or "").startswith((_DELETED, _REDIRECTED))


def is_disputed(held: Row, page: Row, kept: AbstractSet[str] = frozenset()) -> bool:
    """Whether an entity keeps its type although its page now has another type, or no certain one.

    A promoted entity keeps it against a machine that is less certain, and one that people keep does so
    against every machine; but not against a person's decision, nor after one was withdrawn. Unknown never
    replaces a type. If a model gave the type, the entity keeps it while the edited page waits for a model's
    new answer.

    Args:
        held: the current row of `entities`, in the entity's type.
        page: the page that it was read from, as for `review_reason`.
        kept: ids of entities that people promoted or merged.
    """
    if not _is_the_page(held, page) or _BY_A_PERSON in {held["method"], page["method"]}:
        return False
    if _is_kept(held, page, kept) or _waits_for_a_model(held, page):
        return bool(held["state"] != "suppressed")
    return (
        held["state"] == "promoted"
        and page["entity_type"] not in {held["entity_type"], _SAYS_NOTHING}
        and page["confidence"] < held["confidence"]
    )


def has_left(held: Row, page: Row, kept: AbstractSet[str] = frozenset()) -> bool:
    """Whether an entity goes with its page to another type, whatever people decided about its state.

    Args:
        held: the current row of `entities`, in the entity's type.
        page: the page that it was read from, as for `review_reason`.
        kept: as for `is_disputed`.
    """
    now: str = page["entity_type"]
    is_other = now != held["entity_type"] and now in load_taxonomy().entity_worthy_types
    is_sure = is_other and page["confidence"] >= entity_from(now)
    return is_sure and _is_the_page(held, page) and not is_disputed(held, page, kept)


def away_ids(
    rows: Iterable[Row], pages: Mapping[tuple[str, str], PageNow], kept: AbstractSet[str]
) -> AbstractSet[str]:
    """The entities of a type whose page is there, but has another title now, or another type.

    They keep their page, or go with it, so no other page takes its place. But where a page stayed and is
    about no entity any more, such as a list, another page may be about the thing.

    Args:
        rows: current rows of `entities`.
        pages: the present state of their pages, by entity type and id.
        kept: as for `is_disputed`.
    """
    known = ((row, pages.get((row["entity_type"], row["entity_id"]))) for row in rows)
    return frozenset(
        row["entity_id"] for row, now in known if now and now.page and _is_away(row, now.page, kept)
    )


def _is_away(held: Row, page: Row, kept: AbstractSet[str]) -> bool:
    if not _is_the_page(held, page):
        return False
    is_moved: bool = held["title_key"] != page["title_key"]
    return is_moved or is_disputed(held, page, kept) or has_left(held, page, kept)


def _is_kept(held: Row, page: Row, kept: AbstractSet[str]) -> bool:
    """Whether people keep an entity in a type that its page does not have, or not for certain."""
    is_given = page["entity_type"] == held["entity_type"] and page["confidence"] >= entity_from(
        page["entity_type"]
    )
    return bool(kept) and held["entity_id"] in kept and not is_given


def _waits_for_a_model(held: Row, page: Row) -> bool:
    answer = _ANSWER_OF.get(held["method"])
    rules_alone = answer is not None and page["method"] == "rules" and page.get(answer) is None
    return bool(rules_alone and page["confidence"] < SURE_ENOUGH)


def _is_the_page(held: Row, page: Row) -> bool:
    """Whether the page is the one that the entity was read from, and still has content."""
    if page.get("redirect_target") or held["page_id"] != page["page_id"]:
        return False
    return held["page_id"] is not None or bool(held["title_key"] == page["title_key"])


def settles_review(before: Row, page: Row) -> bool:
    """Whether a page that gives no reason for a review ends the standing one.

    A dispute, or a merge across types, ends with its cause; everything ends when a person has decided what
    the page is.
    """
    decided = page["method"] == _BY_A_PERSON != before["method"]
    reason = before["review_reason"] or ""
    return decided or IN_DISPUTE in reason or ACROSS_TYPES in reason


def _moved(before: Row, page: Row) -> str | None:
    if before["title_key"] == page["title_key"]:
        return None
    if before["page_id"] is not None and before["page_id"] == page["page_id"]:
        return f"page moved from {before['title']!r} to {page['title']!r}"
    return f"page {page['title']!r} took the place of {before['title']!r}"


def _retyped(before: Row, page: Row, kept: AbstractSet[str]) -> str | None:
    if is_disputed(before, page, kept):
        now = f"{IN_DISPUTE}: by {page['method']} it is {page['entity_type']} at {page['confidence']:.2f}"
        if _is_kept(before, page, kept):
            return f"{now}, but a person promoted or merged it as {before['entity_type']}"
        if _waits_for_a_model(before, page):
            return f"{now}, and no model has read the edited page yet"
        stands = f"{before['entity_type']} at {before['confidence']:.2f}"
        return f"{now}, less surely than the {stands} that was promoted"
    # For the same revision, the rules changed, not the wiki; a person's decision needs no review.
    same_revision = before["revision_id"] == page["revision_id"]
    if before["entity_type"] == page["entity_type"] or same_revision or page["method"] == _BY_A_PERSON:
        return None
    if _is_another_at_its_title(before, page):
        return f"another page stands at its title, and is {page['entity_type']}"
    return f"type changed from {before['entity_type']} to {page['entity_type']}"


def _is_another_at_its_title(before: Row, page: Row) -> bool:
    """Whether a page has the title that another page had; of one of the same type it may be restored."""
    if before["title_key"] != page["title_key"] or None in {before["page_id"], page["page_id"]}:
        return False
    return bool(before["page_id"] != page["page_id"])
