"""Turning a page of an XML export into a row of table `pages`, as the API would give it, and back. Pure."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha1
from typing import Any

from holocron_assets.crawl.dumps.elements import DumpPage, parse_page
from holocron_assets.crawl.mediawiki.pages import Extract
from holocron_assets.lake.declaration.keys import content_hash, title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import PAGES
from holocron_assets.lake.titles import DEFAULT_SITE

_SHA1_END = 1 << 160


@dataclass(frozen=True)
class Asked:
    """What is known of a page before the export is read for it. Columns of table `pages`."""

    source: str
    batch: str
    position: int
    requested_title: str
    depth: int
    discovered_from: str | None
    fetched_at: datetime
    run_id: str


def page_row(page: DumpPage | None, asked: Asked, extract: Extract) -> dict[str, Any]:
    """Make the row of one page.

    Args:
        page: the page at the place where it was listed (`export.read_pages`); None if there is no page.
        asked: the other values of the row.
        extract: finds links, categories and the redirect target; an export's own redirect target wins.

    Returns:
        A row of table `pages`. Its status is 'ok'; 'invalid' (no page can have this title; text is kept);
        'dead' (the export holds no text for it); or 'failed' (the export has changed since it was listed, and
        must be listed again; the caller sets `due_at`).
    """
    if page is None or page.title != asked.requested_title:
        found = f"{page.title!r} has its place" if page else "the export ends before it"
        return _row(asked, "failed", f"the export has changed since it was listed: {found} now")
    return _row(asked, page.status, page.error) | {
        "namespace": page.namespace,
        "page_id": page.page_id,
        "revision_id": page.revision_id,
        "revision_at": page.timestamp,
        "sha1": _sha1(page),
        "content_model": page.model,
        "payload": _payload(page),
        **_text_columns(page, extract),
    }


def replay(row: Row) -> DumpPage:
    """The page that a row of table `pages` was made from.

    Raises:
        ValueError: the row has no payload, since it was not made from a page of an export.
    """
    if row["payload"] is None:
        raise ValueError(f"page {row['requested_title']!r} of batch {row['batch']} has no payload to replay")
    payload = json.loads(row["payload"])
    page = parse_page(payload["ordinal"], payload["page"], row["wikitext"], DEFAULT_SITE)
    error = row["error"].removeprefix(f"{row['requested_title']}: ") if row["error"] else None
    # the title rules of its wiki are not known here, but the row holds their results
    return replace(page, title=row["title"], namespace=row["namespace"], status=row["status"], error=error)


def _row(asked: Asked, status: str, error: str | None) -> dict[str, Any]:
    """A row with everything that is known without a page; the columns of its content are empty."""
    key = title_key(asked.source, asked.requested_title)
    return {
        **dict.fromkeys(column.name for column in PAGES.columns),
        **vars(asked),
        "requested_key": key,
        "title": asked.requested_title,
        "title_key": key,
        "namespace": 0,
        "attempts": 1,
        "status": status,
        "error": f"{asked.requested_title}: {error}" if error else None,
    }


def _text_columns(page: DumpPage, extract: Extract) -> dict[str, Any]:
    if page.text is None:
        return {}
    is_wikitext = page.model in {None, "wikitext"}
    links, categories, target = extract(page.text) if is_wikitext else ([], [], None)
    return {
        "wikitext": page.text,
        "size_bytes": len(page.text.encode("utf-8")),
        "content_hash": content_hash(page.text),
        "links": list(dict.fromkeys(links)),
        "categories": list(dict.fromkeys(categories)),
        "redirect_target": page.redirect_title or target,
    }


def _sha1(page: DumpPage) -> str | None:
    """The SHA-1 that the export states, in hexadecimal as in the API; if it states none, that of the text."""
    try:
        stated = int(page.sha1 or "", 36)
    except ValueError:
        stated = -1
    if 0 <= stated < _SHA1_END:
        return f"{stated:040x}"
    return None if page.text is None else sha1(page.text.encode("utf-8"), usedforsecurity=False).hexdigest()


def _payload(page: DumpPage) -> str:
    document = {"ordinal": page.ordinal, "page": page.elements}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
