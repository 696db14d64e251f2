"""Pages for tests of signals."""

from typing import Any

from holocron_assets.lake.keys import title_key
from holocron_assets.lake.schema import Row
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.signals.extract import signal_row


def page(wikitext: str | None, title: str = "Issa Dorrane", **columns: Any) -> Row:
    """A row of table `pages` as far as signals read it."""
    return {
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
        **columns,
    }


def signals(wikitext: str | None, title: str = "Issa Dorrane", **columns: Any) -> Row:
    """The signals of a page on a wiki with English namespaces."""
    return signal_row(page(wikitext, title, **columns), DEFAULT_SITE)


def fields(row: Row) -> dict[str, str]:
    """The infobox of a row of table `page_signals`."""
    return {field["name"]: field["value"] for field in row["infobox_fields"]}
