"""When a person should look at an entity: its page is not the page that it was, though nobody erred."""

from typing import NamedTuple

from holocron_assets.lake.schema import Row


class PageNow(NamedTuple):
    """What became of the page that an entity was last read from.

    Attributes:
        page: as it is now, for `review_reason`.
        was_absent: whether the wiki said since that the title has no page, or a redirect only.
    """

    page: Row | None
    was_absent: bool


def review_reason(before: Row, page: Row | None, *, was_absent: bool) -> str | None:
    """Why a person should look at an entity now; None for a page that was edited, or read otherwise.

    Args:
        before: the row of `entities` that was true of it until now.
        page: its page as it is now, with `title`, `page_id`, `revision_id`, `entity_type` (of the page,
            whether or not it is sure) and, if it is a redirect, `redirect_target`; None if the wiki has none.
        was_absent: as in `PageNow`.

    Returns:
        The reason, naming titles and types.
    """
    if page is None:
        return "page deleted"
    if target := page.get("redirect_target"):
        return f"page became a redirect to {target!r}"
    moved, retyped = _moved(before, page), _retyped(before, page)
    restored = "page restored" if was_absent and not moved else None
    return "; ".join(reason for reason in (moved, restored, retyped) if reason) or None


def _moved(before: Row, page: Row) -> str | None:
    if before["title_key"] == page["title_key"]:
        return None
    if before["page_id"] is not None and before["page_id"] == page["page_id"]:
        return f"page moved from {before['title']!r} to {page['title']!r}"
    return f"page {page['title']!r} took the place of {before['title']!r}"


def _retyped(before: Row, page: Row) -> str | None:
    # Of the same revision it is the rules that changed, and not the wiki.
    if before["entity_type"] == page["entity_type"] or before["revision_id"] == page["revision_id"]:
        return None
    return f"type changed from {before['entity_type']} to {page['entity_type']}"
