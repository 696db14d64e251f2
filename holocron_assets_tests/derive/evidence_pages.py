"""Pages for tests of evidence: the rows that crawl and signals would have made of a wikitext."""

from typing import Any

from holocron_assets.derive.evidence.page_parts import PageParts
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.signals.extract import signal_row


def page_parts(wikitext: str, title: str = "Varn") -> PageParts:
    """The parts of a page that says this."""
    page: dict[str, Any] = {
        "source": "sample",
        "batch": "sample-000001",
        "title": title,
        "title_key": title_key("sample", title),
        "namespace": 0,
        "page_id": 7,
        "revision_id": 70,
        "content_model": "wikitext",
        "wikitext": wikitext,
        "categories": None,
        "links": None,
        "redirect_target": None,
    }
    return PageParts(page, signal_row(page, DEFAULT_SITE), DEFAULT_SITE)
