"""An answer of a wiki's API, read as each of our questions reads it."""

from datetime import UTC, datetime, timedelta

from crawl_rows import answered_page, wiki_source

from holocron_assets.crawl.changes.rows import Seen, change_rows, merged
from holocron_assets.crawl.http.outcomes import HttpAnswer
from holocron_assets.crawl.mediawiki.answers import ApiAnswer, JsonObject, read_answer
from holocron_assets.crawl.mediawiki.changes import Change, difference, read_changes
from holocron_assets.crawl.mediawiki.pages import page_row
from holocron_assets.crawl.mediawiki.sites import site_row
from holocron_assets.crawl.mediawiki.titles import AnsweredPages
from holocron_assets.crawl.page_rows import Asked
from holocron_assets.lake.tables import PAGE_CHANGES, PAGES, SITES
from holocron_assets.lake.titles import DEFAULT_SITE, Site
from holocron_assets.signals.links import link_extractor

_AT = datetime(2026, 3, 1, tzinfo=UTC)
_SOURCE = wiki_source("sample")


def check_answer(data: bytes) -> None:
    """Read an answer; whatever is not built as MediaWiki's is refused with a ValueError."""
    answer = read_answer(HttpAnswer(200, {"content-type": "application/json"}, data))
    assert answer.is_expected or answer.problem
    _check_pages(answer)
    _check_changes(answer)
    _check_site(answer)


def _check_site(answer: ApiAnswer) -> None:
    try:
        row = site_row(answer.query, "sample", _AT)
    except ValueError:
        return
    Site.from_row(SITES.to_arrow([row], "sample").to_pylist()[0])


def _check_pages(answer: ApiAnswer) -> None:
    answered = AnsweredPages()
    try:
        answered.add(answer.query)
        answered.add(answer.query)  # a further answer of the same query has more of the same pages
    except ValueError:
        return
    answered.complete_links()
    for title in [*answered.renamed, *answered.pages]:
        found = answered.find(title)
        _check_page(title, found)
        _check_difference(title, found)


def _check_page(title: str, found: JsonObject | None) -> None:
    asked = Asked("sample", "sample-000001", 0, title, 0, None, _AT, "run", http_status=200)
    extract = link_extractor(DEFAULT_SITE)
    row = page_row(found, asked, extract)
    PAGES.to_arrow([row], "sample-000001").to_pylist()
    if row["payload"] is not None:
        assert page_row(answered_page(row), asked, extract) == row


def _check_difference(title: str, found: JsonObject | None) -> None:
    for known in (None, 1):
        if found and (change := difference(known, found)):
            _check_change_rows([Change(title, *change, changed_at=_AT)])


def _check_changes(answer: ApiAnswer) -> None:
    try:
        listed = read_changes(answer)
    except ValueError:
        return
    _check_change_rows([change for entry in listed.entries for change in entry.changes])
    ahead = listed.wiki_time - _AT
    assert abs(_AT + ahead - listed.wiki_time) < timedelta(seconds=1)


def _check_change_rows(changes: list[Change]) -> None:
    rows = change_rows(changes, Seen("recent_changes", _AT, timedelta(hours=1)), _SOURCE, DEFAULT_SITE)
    newest = merged(rows, rows)
    PAGE_CHANGES.to_arrow(newest, "sample").to_pylist()
    assert merged(newest, newest) == newest
