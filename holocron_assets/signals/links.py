"""Links, categories and the redirect target of a page, read from its wikitext.

Source of the rules: MediaWiki's `Parser::handleInternalLinks2` and
`WikitextContent::getRedirectTargetAndText`.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol
from urllib.parse import unquote

from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.titles import (
    CATEGORY_NAMESPACE,
    FILE_NAMESPACE,
    InterwikiTitle,
    InvalidTitle,
    PageTitle,
    Site,
)
from holocron_assets.signals.hidden import FILLER, without_hidden
from holocron_assets.signals.outline import KEPT_TEXTS
from holocron_assets.signals.vocabulary import leads_to_a_language, words_of

# A title has 255 bytes; its fragment and percent-encoding may be longer. 2,000 characters bound the cache.
# A pipe trick that was saved unexpanded, [[X|]], is no link: Parser::handleInternalLinks2 wants a label.
# MediaWiki takes brackets in pairs from the left, so that "[[[Foo]]]" is no link.
# The lookahead consumes nothing, so that links inside a file's caption are found as well. It shows whether
# the link is closed before the next one opens.
_LINK = re.compile(
    r"\[\[(?<!\[\[\[)(?:\[\[)*+([^\[\]{}<>|\n]{1,2000})"
    r"(?:\]\]|\|(?!\]\])(?=(?:[^\[\]]++|\](?!\])|\[(?!\[))*+(\]\]|\[\[)))"
)
_REDIRECT = re.compile(r"\s*+#([^\s\[:]++)\s*+:?\s*+\[\[([^\[\]{}<>|\n]{1,2000})(?:\|[^\[\]]*+)?\]\]")
# $wgUrlProtocols: "[[https://x y]]" is an address in brackets
_ADDRESS = re.compile(
    r"(?:(?:ftps?|git|gopher|https?|ircs?|mms|nntp|redis|sftp|ssh|svn|telnet|worldwind):)?//"
    r"|(?:bitcoin|geo|magnet|mailto|matrix|news|sips?|sms|tel|urn|xmpp):",
    re.IGNORECASE,
)
_LONGEST_KEPT = 100_000
_PIPE_TEMPLATE = re.compile(r"\{\{\s*!\s*\}\}")


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The links of a page: each title once, in the order of first occurrence.

    Attributes:
        links: pages and files linked to; a redirect's target is not among them.
        categories: categories that the page is in.
        redirect: where a redirect leads, with its fragment; None for other pages, and if it leads to none of
            this wiki.
        is_redirect: whether the page is a redirect, wherever it leads.
    """

    links: tuple[PageTitle, ...]
    categories: tuple[PageTitle, ...]
    redirect: PageTitle | None = None
    is_redirect: bool = False


def extract_links(wikitext: str, site: Site, *, is_redirect: bool = False) -> PageLinks:
    """Read the links of a page. Several steps read the same texts of a batch, one after another.

    Links in template arguments, references and file captions count; those in comments, nowiki, code and
    formulas do not. Links to other wikis, to sections of the page itself and to impossible titles are left
    out.

    Args:
        wikitext: the page's text.
        site: the wiki that the page is on.
        is_redirect: whether the wiki says that the page is a redirect; then its magic word may be of any
            language.
    """
    read = _kept_links if len(wikitext) <= _LONGEST_KEPT else _extract_links
    return read(wikitext, site, is_redirect=is_redirect)


def _extract_links(wikitext: str, site: Site, *, is_redirect: bool) -> PageLinks:
    text = without_hidden(wikitext)
    is_redirect, redirect, text = _redirect(text, site, is_redirect=is_redirect)
    if "{{" in text:
        text = _PIPE_TEMPLATE.sub("|", text)
    links: dict[str, PageTitle] = {}
    categories: dict[str, PageTitle] = {}
    for written, closing in dict.fromkeys(_LINK.findall(text)):
        target = None if _leads_to_a_language(written, closing, site) else _target(written, site)
        if target is None or (closing == "[[" and target.namespace != FILE_NAMESPACE):
            continue
        is_category = target.namespace == CATEGORY_NAMESPACE and not written.lstrip().startswith(":")
        (categories if is_category else links).setdefault(target.title, target)
    return PageLinks(tuple(links.values()), tuple(categories.values()), redirect, is_redirect)


_kept_links = lru_cache(maxsize=KEPT_TEXTS)(_extract_links)


class LinkExtractor(Protocol):
    """Gives what a crawl needs of a text: linked titles, category names, redirect target."""

    def __call__(self, wikitext: str, /, *, is_redirect: bool) -> tuple[list[str], list[str], str | None]:
        """Read a text (see `extract_links`)."""


def link_extractor(site: Site) -> LinkExtractor:
    """A function that gives what a crawl needs of a text of a wiki."""

    def extract(wikitext: str, /, *, is_redirect: bool) -> tuple[list[str], list[str], str | None]:
        found = extract_links(wikitext, site, is_redirect=is_redirect)
        links = [link.title for link in found.links]
        categories = [category.name for category in found.categories]
        return links, categories, found.redirect.title if found.redirect else None

    return extract


def _redirect(text: str, site: Site, *, is_redirect: bool) -> tuple[bool, PageTitle | None, str]:
    """Whether a page is a redirect, where it leads on its wiki, and the text after that."""
    match = _REDIRECT.match(text)
    if not match or not (is_redirect or match[1].lower() in words_of(site).redirects):
        return is_redirect, None, text
    target = _target(match[2], site)
    leads_somewhere = target is not None or _leads_to_another_wiki(match[2], site)
    return is_redirect or leads_somewhere, target, text[match.end() :]


def _leads_to_another_wiki(written: str, site: Site) -> bool:
    try:
        site.parse_title(unquote(written.strip()).removeprefix(":"))
    except InterwikiTitle:
        return True
    except InvalidTitle:
        pass
    return False


def _leads_to_a_language(written: str, closing: str, site: Site) -> bool:
    """Whether a link leads to another language's page; one with a leading colon does so within the text."""
    target = written.strip()
    in_text = target.startswith(":")
    return leads_to_a_language(target.removeprefix(":"), site, has_label=bool(closing) and not in_text)


# pages of a wiki often link to the same titles, and this function takes most of the time
@lru_cache(maxsize=1 << 16)
def _target(written: str, site: Site) -> PageTitle | None:
    written = written.strip()
    if written.startswith("#") or FILLER in written or _ADDRESS.match(written):
        return None
    if "%" in written:
        written = unquote(written)
    try:
        target = site.parse_title(written.removeprefix(":"))
    except InvalidTitle:
        return None
    # Special and Media are no pages; MediaWiki records no links to them either
    return target if target.namespace >= 0 else None


def page_links(page: Row, site: Site) -> PageLinks:
    """The links of a row of table `pages`: those in its text, then those that only the source reported.

    Links, categories and the redirect target that the source reported may come from templates. Links of the
    page to itself are left out, as MediaWiki does.
    """
    found = PageLinks((), ())
    if page.get("content_model") in (None, "wikitext"):
        found = extract_links(page.get("wikitext") or "", site, is_redirect=_is_redirect(page))
    reported = page.get("redirect_target")
    redirect = found.redirect or (_target(reported, site) if reported else None)
    not_links = {page["title"], redirect.title if redirect else None}
    links = _merged(found.links, _reported(page, "links"), "", site)
    return PageLinks(
        links=tuple(link for link in links if link.title not in not_links),
        categories=_merged(found.categories, _reported(page, "categories"), "Category:", site),
        redirect=redirect,
        is_redirect=found.is_redirect or redirect is not None,
    )


def _is_redirect(page: Row) -> bool:
    """Whether the source says that a page is a redirect.

    An earlier version of the code found a target only behind words that it knew; the payload shows that.
    """
    if page.get("redirect_target") or page.get("payload") is None:
        return bool(page.get("redirect_target"))
    return json.loads(page["payload"]).get("redirect") is True


def _reported(page: Row, column: str) -> Iterable[str]:
    """Links or category names that the wiki itself listed.

    An earlier version of the code may have read the row's columns from the text; the payload shows that.
    """
    if page.get("payload") is None:
        return page.get(column) or ()
    listed = json.loads(page["payload"]).get(column) or ()
    return (item["title"].partition(":")[2] if column == "categories" else item["title"] for item in listed)


def _merged(
    found: Iterable[PageTitle], reported: Iterable[str], prefix: str, site: Site
) -> tuple[PageTitle, ...]:
    titles = [*found, *(_target(f"{prefix}{text}", site) for text in reported)]
    return tuple({title.title: title for title in titles if title}.values())


def link_rows(page: Row, site: Site) -> list[Row]:
    """Rows of table `page_links` for a page.

    Args:
        page: a row of table `pages` with status 'ok'.
        site: the wiki that the page is on.

    Returns:
        A row for each link, category and redirect target of `page_links`.
    """
    found = page_links(page, site)
    kinds = {
        "link": found.links,
        "category": found.categories,
        "redirect": (found.redirect,) if found.redirect else (),
    }
    return [
        _row(page, kind, target, position)
        for kind, targets in kinds.items()
        for position, target in enumerate(targets)
    ]


def _row(page: Row, kind: str, target: PageTitle, position: int) -> Row:
    return {
        "source": page["source"],
        "batch": page["batch"],
        "from_key": page["title_key"],
        "from_title": page["title"],
        "kind": kind,
        "target": target.title,
        "target_key": title_key(page["source"], target.title),
        "target_namespace": target.namespace,
        "position": position,
    }
