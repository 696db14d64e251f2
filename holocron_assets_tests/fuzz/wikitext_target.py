"""A page's text, from the wiki to its rows: links, signals, infobox facts, clean text and its chunks."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from holocron_assets.derive.evidence.chunks import page_chunks
from holocron_assets.derive.evidence.page_text import page_text
from holocron_assets.entities.facts.dates import find_dates, is_date
from holocron_assets.entities.facts.page_facts import page_fact_rows
from holocron_assets.entities.facts.rules import load_rule_book
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.tables import PAGE_FACTS, PAGE_LINKS, PAGE_SIGNALS
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.signals.extract import signal_row
from holocron_assets.signals.infobox.values import InfoboxValue, infobox_values
from holocron_assets.signals.links import link_rows

SITE = DEFAULT_SITE
RULES = load_rule_book("sample")
TITLE = "Issa Dorrane"
_CRASHED = re.compile(r"^page '.*?': \w*(?:Error|Exception|Interrupt): ")


def page_of(text: str) -> dict[str, Any]:
    """A row of table `pages`, as far as the readers of its text need one."""
    return {
        "source": "sample",
        "batch": "sample-000001",
        "title": TITLE,
        "title_key": title_key("sample", TITLE),
        "namespace": 0,
        "page_id": 7,
        "revision_id": 8,
        "revision_at": datetime(2026, 3, 1, tzinfo=UTC),
        "content_model": "wikitext",
        "wikitext": text,
        "categories": [],
        "redirect_target": None,
        "payload": None,
    }


def check_page(data: bytes) -> None:
    """Read a page with this text, and check all that is made of it."""
    text = data.decode("utf-8", "replace")
    page = page_of(text)
    signals = signal_row(page, SITE)
    PAGE_SIGNALS.to_arrow([signals], "sample-000001")
    assert not _CRASHED.match(signals["extraction_error"] or ""), signals["extraction_error"]
    assert signals["lead_offset"] is None or 0 <= signals["lead_offset"] < len(text)
    _check_links(page)
    for template in {signals["infobox_template"], "Infobox person"} - {None}:
        _check_infobox(page, template)
    _check_clean_text(text)


def _check_links(page: dict[str, Any]) -> None:
    rows = link_rows(page, SITE)
    PAGE_LINKS.to_arrow(rows, "sample-000001")
    for row in rows:
        again = SITE.parse_title(row["target"])
        assert (again.title, again.namespace) == (row["target"], row["target_namespace"])


def _check_infobox(page: dict[str, Any], template: str) -> None:
    everywhere: Callable[[str], bool] = bool
    values = infobox_values(page["wikitext"], template, SITE, everywhere)
    for value in values:
        _check_place(value, len(page["wikitext"]))
    PAGE_FACTS.to_arrow(page_fact_rows(page, template, values, RULES), "sample-000001")
    # rules of people may read any field as anything: so does this
    for value in values:
        check_dates(value.text.encode())


def _check_place(value: InfoboxValue, length: int) -> None:
    assert 0 <= value.start <= value.end <= length, value
    assert value.text.strip() == value.text != ""


def _check_clean_text(text: str) -> None:
    clean = page_text(text, SITE, TITLE)
    clean.encode()
    position = 0
    for number, chunk in enumerate(page_chunks(clean, 200)):
        assert chunk.number == number
        assert 0 < len(chunk.text) <= 200
        assert chunk.start >= position
        assert not clean[position : chunk.start].strip()
        assert clean[chunk.start :].startswith(chunk.text)
        position = chunk.start + len(chunk.text)
    assert not clean[position:].strip()


def check_dates(data: bytes) -> None:
    """Find the dates in a text, and check that they are where they are said to be, in order."""
    text = data.decode("utf-8", "replace")
    position = 0
    for found in find_dates(text):
        assert position <= found.start < found.end <= len(text)
        assert found.written == text[found.start : found.end]
        assert found.since is None or found.until is None or found.since <= found.until, found
        position = found.end
    assert is_date(text) in {True, False}
