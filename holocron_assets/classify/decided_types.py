"""People's decisions about the types of pages: of one page, or of all articles that share something."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from holocron_assets.classify.rules import is_open
from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.decisions.log import (
    SHARED,
    DecisionError,
    Standing,
    by_time,
    decided_now,
    new_decision,
    one_answer,
    record,
    refuse_unsaid,
    standing,
)
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.listing import Listing
from holocron_assets.lake.files.parquet import read_table
from holocron_assets.lake.freshness import RowsOf
from holocron_assets.lake.packs.packs import FileMark
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import PAGE_SIGNALS
from holocron_assets.lake.titles import DOTTED_CAPITAL, capitalised
from holocron_assets.lake.views.database import connect, query
from holocron_assets.lake.views.named_pages import find_page, nearest_pages, page_ids, titles_there

SHARED_COLUMNS = ("namespace", "is_redirect", "infobox_template", "categories")
"""Columns of page_signals that say whether a page is an article, and what it shares with others."""

DECIDED_BY = ("source", "title_key", "page_id", *SHARED_COLUMNS)
"""Columns of page_signals that say which decision counts for a page."""

_SPACES = re.compile(r"[\s\x00-\x1f\x7f_]+", re.ASCII)  # as in view `shared_by_articles`
_PAGES_WITH = """
    select
        shared_by_articles.source, count(*) as pages, count(*) filter (needs_review) as open_pages,
        shared_by_articles.shared as title
    from shared_by_articles
    join page_types using (source, batch, title_key)
    left join sites using (source)
    where shared_by_articles.shared = if(list_contains($dotted_languages, sites.language), $dotted, $plain)
        and coalesce(shared_by_articles.source = $source, true)
    group by all
    order by all
"""

_NO_ID = -1
_Keys = npt.NDArray[np.int64]


class _Pages(NamedTuple):
    """The title keys of a batch's pages and their page ids, in the same order."""

    title_keys: _Keys
    page_ids: _Keys


_PAGES: dict[tuple[Path, str], tuple[FileMark, _Pages]] = {}
"""Pages of batches, with the mark of their file: 8 KB a batch, only if there is a decision about a page."""

_SHARED: dict[tuple[Path, str], tuple[tuple[FileMark, AbstractSet[str]], AbstractSet[str]]] = {}
"""Which of the decided templates and categories a batch has, with its file's mark and those looked for."""


class PagesWith(NamedTuple):
    """How many articles of a source share something.

    Attributes:
        source: the source.
        pages: how many.
        open_pages: how many of them have a type that is unsure.
        title: of what they share, as the source's wiki writes it.
    """

    source: str
    pages: int
    open_pages: int
    title: str


class DecidedTypes:
    """People's decisions about the types of some pages, and which of them counts for a page."""

    def __init__(self, rows: Sequence[Row]) -> None:
        """Take decisions as `read_decided_types` gives them."""
        self._standing = Standing(rows)
        self._shared = {row["title"]: row for row in rows if row["kind"] in SHARED}

    def about(self, signals: Row, rules: Row) -> Row | None:
        """The decision that counts for a page: about itself, else its infobox template, else a category.

        A category's decision counts only where the rules leave the page open, since a category also has pages
        that are no members of its class. If decisions about several categories contradict each other, none
        counts.

        Args:
            signals: the page's row of table page_signals; the columns `DECIDED_BY` are enough.
            rules: its row of table rule_classifications.
        """
        own = self._standing.type_of(signals["source"], signals["title_key"], signals["page_id"])
        if own or not self._shared or not is_article(signals):
            return own
        found = [self._shared[title] for title in _shared_titles(signals) if title in self._shared]
        if found and found[0]["kind"] == "template":
            return found[0]
        is_agreed = len({row["value"] for row in found}) == 1
        return found[0] if is_agreed and is_open(rules) else None


def decide_type(  # noqa: PLR0913 - each is a column
    lake: Lake, *, source: str | None, title: str, type_name: str, author: str, reason: str
) -> Row:
    """Decide the type of a page. The decision outranks rules and models until it is undone.

    It goes with the page when that moves, if the wiki gives page ids.

    Args:
        lake: where the decision goes.
        source: the page's source; None where only one source has the page.
        title: its title, as `find_page` takes it.
        type_name: one of the taxonomy's types.
        author: who decides.
        reason: why.

    Returns:
        The row of table `decisions` that was written.

    Raises:
        DecisionError: there is no such type, page, author or reason, or several pages have the title.
    """
    _refuse_unknown(type_name, author, reason)
    [row] = _recorded(lake, [(*_one_page(lake, title, source), None)], type_name, author, reason)
    return row


def decide_types(  # noqa: PLR0913 - each is a column
    lake: Lake,
    *,
    source: str,
    pages: Sequence[tuple[str, int | None]],
    type_name: str,
    author: str,
    reason: str,
) -> Sequence[Row]:
    """Decide that pages of a source are of one type, with one answer: all is written, or nothing.

    Args:
        lake: where the decisions go.
        source: the pages' source.
        pages: the title of each, and the id of the page that the person saw; None for the page that has the
            title now.
        type_name: one of the taxonomy's types.
        author: who decides.
        reason: why.

    Returns:
        The rows of table `decisions` that were written.

    Raises:
        DecisionError: one of the decisions cannot be made.
    """
    _refuse_unknown(type_name, author, reason)
    exact = titles_there(lake, source, [title for title, _ in pages])
    named = [
        (*((source, title) if title in exact else _one_page(lake, title, source)), page_id)
        for title, page_id in pages
    ]
    return _recorded(lake, named, type_name, author, reason)


def decide_shared(  # noqa: PLR0913 - each is a column
    lake: Lake, kind: str, *, source: str | None, name: str, type_name: str, author: str, reason: str
) -> tuple[Row, PagesWith]:
    """Decide the type of all articles with an infobox template or of a category, also of later ones.

    Args:
        lake: where the decision goes.
        kind: 'template' or 'category'.
        source: the articles' source; None where only one source has such articles.
        name: name of the template or category, with or without its English namespace.
        type_name: one of the taxonomy's types.
        author: who decides.
        reason: why.

    Returns:
        The row of table `decisions` that was written, and how many articles it is about.

    Raises:
        DecisionError: there is no such type, article, author or reason, or several sources have articles of
            the kind.
    """
    _refuse_unknown(type_name, author, reason)
    found, title = pages_with(lake, kind, name, source), shared_title(kind, name)
    where = f" of {source}" if source else ""
    if not found:
        has = "has the infobox" if kind == "template" else "is in"
        raise DecisionError(
            f"no article{where} {has} {title!r}: nothing can be decided about it. View `shared_by_articles` "
            "has the names of all templates and categories"
        )
    if len(found) > 1:
        raise DecisionError(
            f"{' and '.join(one.source for one in found)} have articles with {title!r}: name one by --source"
        )
    row = new_decision(
        kind,
        author=author,
        reason=reason,
        source=found[0].source,
        title=found[0].title,
        value=type_name,
        now=decided_now(lake),
    )
    record(lake, [row])
    return row, found[0]


def pages_with(lake: Lake, kind: str, name: str, source: str | None) -> list[PagesWith]:
    """How many articles each source has that share something; sources without one are left out.

    Args:
        lake: where they are.
        kind: 'template' or 'category'.
        name: its name, with or without its English namespace.
        source: only of this source.
    """
    asked = {
        "plain": shared_title(kind, name),
        "dotted": shared_title(kind, name, min(DOTTED_CAPITAL)),
        "dotted_languages": sorted(DOTTED_CAPITAL),
        "source": source,
    }
    relations = ("shared_by_articles", "page_types", "sites")
    with connect(lake, relations=relations, made_once=["current_answers"]) as connection:
        return [PagesWith(**row) for row in query(connection, _PAGES_WITH, asked)]


def shared_title(kind: str, name: str, language: str | None = None) -> str:
    """The title of a template or category. A wiki takes any first letter, and underscores for spaces.

    Args:
        kind: 'template' or 'category'.
        name: its name, with or without its English namespace.
        language: code of the wiki's language, if it is known.
    """
    start = SHARED[kind]
    plain = _SPACES.sub(" ", re.sub(rf"^:?\s*(?:{start})?", "", name.strip(), flags=re.IGNORECASE)).strip()
    return f"{start}{capitalised(plain, language)}"


def is_article(signals: Row) -> bool:
    """Whether a page is an article: of the main namespace, and no redirect (`signals`: of page_signals)."""
    return signals["namespace"] == 0 and not signals["is_redirect"]


def _shared_titles(signals: Row) -> Iterator[str]:
    """What a page shares with others: its infobox template first."""
    if signals["infobox_template"]:
        yield shared_title("template", signals["infobox_template"])
    for category in signals["categories"]:
        yield shared_title("category", category)


def _refuse_unknown(type_name: str, author: str, reason: str) -> None:
    types = load_taxonomy().types
    if type_name not in types:
        raise DecisionError(f"{type_name!r} is no type of page; the types are {', '.join(types)}")
    refuse_unsaid("a decision", author, reason)


def _recorded(
    lake: Lake, pages: Sequence[tuple[str, str, int | None]], type_name: str, author: str, reason: str
) -> Sequence[Row]:
    unseen = [title_key(source, title) for source, title, page_id in pages if page_id is None]
    now, ids = decided_now(lake), page_ids(lake, unseen) if unseen else {}
    rows = one_answer(
        [
            new_decision(
                "classify",
                author=author,
                reason=reason,
                source=source,
                title=title,
                page_id=ids.get(title_key(source, title)) if page_id is None else page_id,
                value=type_name,
                now=now,
            )
            for source, title, page_id in pages
        ]
    )
    record(lake, rows)
    return rows


def _one_page(lake: Lake, title: str, source: str | None) -> tuple[str, str]:
    """Source and canonical title of the page that a person means."""
    found = find_page(lake, title, source)
    if not found:
        raise DecisionError(
            f"no page is called {title!r}: nothing can be decided about it."
            f"{nearest_pages(lake, title, source)}"
        )
    if len(found) > 1:
        listed = " or ".join(f"{name!r} of {its_source}" for its_source, name in found)
        raise DecisionError(f"{title!r} may be {listed}: name one by its exact title and --source")
    return found[0]


def read_decided_types(lake: Lake) -> RowsOf:
    """Read people's decisions once; returns a function that gives the rows for the pages of a batch.

    These are decisions about its pages, and about templates and categories that its articles have. A process
    reads what it needs of a batch once: its pages only if one was decided, and what its articles share only
    if that was decided in its source.
    """
    decided = standing(lake)
    if not decided.types and not decided.shared_types:
        return _nothing
    listing, of_pages = lake.listing(PAGE_SIGNALS), _about_pages(decided)
    shared: Mapping[str, dict[str, Row]] = defaultdict(dict)
    for row in decided.shared_types.values():
        shared[row["source"]][row["title"]] = row

    def of_batch(batch: str) -> Sequence[Row]:
        source = source_of(batch)
        own = of_pages(source, _pages(lake, listing, batch)) if decided.types else []
        about = shared.get(source, {})
        there = _shared_there(lake, listing, batch, about.keys()) if about else ()
        return own + [about[title] for title in sorted(there)]

    return of_batch


def _about_pages(decided: Standing) -> Callable[[str, _Pages], list[Row]]:
    """A function that gives the decisions that count for some pages of a source, in their order."""
    titles = np.sort(np.fromiter(decided.types, np.int64))
    by_source: Mapping[str, list[int]] = defaultdict(list)
    for source, page_id in decided.types_by_page_id:
        by_source[source].append(page_id)
    ids = {source: np.sort(np.array(found, np.int64)) for source, found in by_source.items()}

    def about(source: str, pages: _Pages) -> list[Row]:
        named = _is_among(titles, pages.title_keys)
        if source in ids:
            named |= _is_among(ids[source], pages.page_ids)
        found = (
            decided.type_of(source, key, None if page_id == _NO_ID else page_id)
            for key, page_id in zip(*(keys[named].tolist() for keys in pages), strict=True)
        )
        return sorted({row["decision_id"]: row for row in found if row}.values(), key=by_time)

    return about


def _nothing(_batch: str) -> Sequence[Row]:
    return ()


def _pages(lake: Lake, listing: Listing, batch: str) -> _Pages:
    mark = listing.mark(batch)
    if mark is None:
        return _Pages(np.empty(0, np.int64), np.empty(0, np.int64))
    known = _PAGES.get((lake.root, batch))
    if known is None or known[0] != mark:
        rows = read_table(lake, PAGE_SIGNALS, batch, ["title_key", "page_id"])
        ids = pc.fill_null(rows.column("page_id"), _NO_ID)
        known = mark, _Pages(rows.column("title_key").to_numpy(), ids.to_numpy())
        _PAGES[lake.root, batch] = known
    return known[1]


def _shared_there(lake: Lake, listing: Listing, batch: str, wanted: AbstractSet[str]) -> AbstractSet[str]:
    """The wanted templates and categories that any article of a batch has."""
    mark = listing.mark(batch)
    if mark is None:
        return frozenset()
    state = mark, frozenset(wanted)
    known = _SHARED.get((lake.root, batch))
    if known is None or known[0] != state:
        signals = read_table(lake, PAGE_SIGNALS, batch, SHARED_COLUMNS)
        articles = signals.filter((pc.field("namespace") == 0) & ~pc.field("is_redirect"))
        named = {
            "template": articles.column("infobox_template"),
            "category": pc.list_flatten(articles.column("categories")),
        }
        there = {
            shared_title(kind, name) for kind in named for name in named[kind].unique().to_pylist() if name
        }
        known = _SHARED[lake.root, batch] = state, there & wanted
    return known[1]


def _is_among(wanted: _Keys, keys: _Keys) -> npt.NDArray[np.bool_]:
    """Which of some keys are among the wanted ones, which are sorted, and at least one."""
    places = np.minimum(wanted.searchsorted(keys), len(wanted) - 1)
    return np.equal(wanted[places], keys)
