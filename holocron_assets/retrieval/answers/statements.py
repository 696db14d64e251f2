"""The statements that an answer is made of, and where each is said word for word."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import duckdb

from holocron_assets.derive.evidence.quotes import find_quote
from holocron_assets.entities.facts.stated_keys import load_keys
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.views.database import query
from holocron_assets.retrieval.index.signs import HANGUL, SPACELESS

_LONGEST_LINE = 200
_MOST_PAGES = 100
"""Pages that are read for one answer: thousands may name a species or a place."""
_OF_WORDS = rf"[^\W{HANGUL}{SPACELESS}]"
"""Letters and digits, but no letters of scripts that put no space between words, or before particles."""
_HYPHEN = r"[-\u2010\u2011\u2013]"
"""What joins two words or figures into one; a long dash parts them."""
_JOINS = re.compile(f"{_OF_WORDS}|{_HYPHEN}")
_FIGURE = re.compile(r"\W?\d[\d\W]*")

RELATIONS = ("entities", "entity_facts", "entity_relations", "passages", "source_pages")
"""The relations that the query here names."""

_KNOWN = """
with said as (
    select
        entity_id, fact_key as key, value, evidence, evidence_start, evidence_end, source, title_key,
        revision_id, null::varchar as answer_id, false as is_turned
    from entity_facts
    where entity_id = $entity and supported and status in ('stated', 'accepted')
    union all
    select
        from_id, relation, to_name, evidence, evidence_start, evidence_end, source, title_key,
        revision_id, to_id, false
    from entity_relations
    where from_id = $entity and supported and status in ('stated', 'accepted')
    union all
    select
        to_id, relation, of.name, evidence, evidence_start, evidence_end, said.source, said.title_key,
        said.revision_id, from_id, true
    from entity_relations as said
    join entities as of on of.entity_id = said.from_id
    where to_id = $entity and from_id <> $entity and supported and said.status in ('stated', 'accepted')
)
from said
"""
_GENDERS = """
select entity_id, list(value) as genders
from entity_facts
where entity_id = any($entities) and fact_key = 'gender' and status in ('stated', 'accepted')
group by entity_id
"""
# One page at a time: DuckDB then reads the text of no other page.
_PAGE = """
select title, url, wikitext, revision_id as revision_now
from source_pages
where source = $source and title_key = $title_key
"""
_CLEAN = """
select title, revision_id as revision_now, text, start_offset
from passages
where source = $source and title_key = $title_key
order by start_offset
"""


@dataclass(frozen=True)
class Statement:
    """Something that a page says word for word.

    Attributes:
        answer: what it answers, in few words.
        quote: the page's words.
        title: the page.
        source: its source.
        revision_id: its revision.
        start: first character of the quote in `of`.
        end: the character after the last.
        of: 'wikitext', or 'text' (the page's clean text).
        entity_id: the entity that it is about, if it is known of one.
        key: the fact or relation that it is, if it is known as one.
        answer_id: the entity that answers, if it is known as one.
    """

    answer: str
    quote: str
    title: str
    source: str
    revision_id: int | None
    start: int
    end: int
    of: str
    entity_id: str | None = None
    key: str | None = None
    answer_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The statement for programs."""
        return asdict(self)


def known_rows(connection: duckdb.DuckDBPyConnection, entity_id: str) -> list[Row]:
    """What is stated or accepted of an entity, by key and value, without the pages that say it.

    A relation of another entity that leads to this one counts under its inverse: what names this one as a
    child answers who its parents are.

    Args:
        connection: to the lake, with `RELATIONS`.
        entity_id: the entity.
    """
    rows = query(connection, _KNOWN, {"entity": entity_id})
    said = [{**row, "key": key} for row in rows if (key := _key_of_entity(row))]
    return sorted(said, key=lambda row: (row["key"], row["value"]))


def standing_statements(connection: duckdb.DuckDBPyConnection, rows: Sequence[Row]) -> list[Statement]:
    """Those of some `known_rows` that are still in their page's present revision word for word.

    Of rows on very many pages, only the first are read.
    """
    pages = _Pages(connection)
    return [statement for row in rows for statement in _standing(row, pages)]


@dataclass
class _Pages:
    """The texts of pages, each read once.

    Attributes:
        connection: to the lake, with `RELATIONS`.
        wikitext: by source and title key, the page as it is now; none if it is not there.
        clean: the passages of its clean text.
    """

    connection: duckdb.DuckDBPyConnection
    wikitext: dict[tuple[str, int], Sequence[Row]] = field(default_factory=dict)
    clean: dict[tuple[str, int], Sequence[Row]] = field(default_factory=dict)

    def of(self, row: Row) -> Sequence[Row]:
        """The page that a row is from, if not too many were read."""
        return self._read(_PAGE, self.wikitext, row)

    def passages_of(self, row: Row) -> Sequence[Row]:
        """The passages of that page, if not too many pages were read."""
        return self._read(_CLEAN, self.clean, row)

    def _read(self, sql: str, known: dict[tuple[str, int], Sequence[Row]], row: Row) -> Sequence[Row]:
        place = (row["source"], row["title_key"])
        if place not in known and len(known) < _MOST_PAGES:
            known[place] = query(self.connection, sql, {"source": place[0], "title_key": place[1]})
        return known.get(place, ())


def genders_of(connection: duckdb.DuckDBPyConnection, entities: Collection[str]) -> dict[str, list[str]]:
    """What is stated or accepted of the genders of some entities."""
    rows = query(connection, _GENDERS, {"entities": sorted(entities)})
    return {row["entity_id"]: row["genders"] for row in rows}


def _key_of_entity(row: Row) -> str | None:
    """The key of what a row says of the entity; None if no key says it from the entity's end."""
    if not row["is_turned"]:
        return str(row["key"])
    relation = load_keys().get(("relation", row["key"]))
    return relation.inverse if relation else None


def quoted(row: Mapping[str, Any], quote: str, answer: str) -> Statement | None:
    """The statement that a passage makes, if it has the quote word for word and the quote has the answer.

    Args:
        row: the passage, as the index shows it.
        quote: the words that were said to be in it.
        answer: what they answer.
    """
    span = find_quote(quote, row["text"])
    if span is None or find_answer(answer, row["text"][span.start : span.end]) is None:
        return None
    return Statement(
        answer=answer,
        quote=row["text"][span.start : span.end],
        title=row["title"],
        source=row["source"],
        revision_id=row["revision_id"],
        start=row["start_offset"] + span.start,
        end=row["start_offset"] + span.end,
        of="text",
        entity_id=row["entity_id"],
    )


def find_answer(answer: str, quote: str) -> int | None:
    """Where an answer stands in a quote as whole words and figures, whatever its case; None if it does not.

    Of words that a hyphen joins, one alone is not whole, as in "twenty-five". A figure may touch its unit, as
    in "12km" or "12-metre", but is none in "5th", "R2D2", "12,500" or "12-15". Scripts that put no space
    between words have no whole ones.
    """
    said = answer.strip().rstrip(".").casefold()
    if not said:
        return None
    before = rf"(?<!{_OF_WORDS})(?<!{_OF_WORDS}{_HYPHEN})" if _JOINS.match(said) else ""
    after = rf"(?!{_HYPHEN}?{_OF_WORDS})" if _JOINS.match(said[-1]) else ""
    if _FIGURE.fullmatch(said):
        before, after = rf"{before}(?<!\d[.,])", rf"(?!\d|[.,]\d|{_HYPHEN}\d|(?:st|nd|rd|th)\b)"
    found = re.search(f"{before}{re.escape(said)}{after}", quote.casefold())
    return found.start() if found else None


def values_of(statements: Sequence[Statement]) -> list[str]:
    """The different answers of some statements, in their order."""
    return list(dict.fromkeys(one.answer for one in statements))


def _line(wikitext: str, start: int, end: int) -> tuple[int, int]:
    """The line around some words, which names the infobox's field, unless it is long."""
    first, last = wikitext.rfind("\n", 0, start) + 1, wikitext.find("\n", end)
    last = len(wikitext) if last < 0 else last
    return (first, last) if last - first <= _LONGEST_LINE else (start, end)


def _standing(row: Row, pages: _Pages) -> Iterator[Statement]:
    """Where a row's words are in its page now: in the wikitext, or else in a passage of the clean text."""
    for page in pages.of(row):
        if span := _span_in_wikitext(row, page):
            start, end = _line(page["wikitext"], *span)
            yield _statement(row, page, page["wikitext"][start:end], (start, end), "wikitext")
            return
    for passage in pages.passages_of(row):
        if span := find_quote(row["evidence"], passage["text"]):
            start, end = (passage["start_offset"] + offset for offset in span)
            yield _statement(row, passage, passage["text"][span.start : span.end], (start, end), "text")
            return


def _span_in_wikitext(row: Row, page: Row) -> tuple[int, int] | None:
    """Where a row's words are in a page's wikitext.

    The row says where they were read, in the revision that it names. They are clean text: markup may part
    them there, and they may be as short as "88". In another revision, they have to be found.
    """
    start, end, wikitext = row["evidence_start"], row["evidence_end"], page["wikitext"] or ""
    if start is not None and row["revision_id"] == page["revision_now"]:
        return start, end
    return find_quote(row["evidence"], wikitext)


def _statement(row: Row, page: Row, quote: str, span: tuple[int, int], of: str) -> Statement:
    return Statement(
        answer=row["value"],
        quote=quote,
        title=page["title"],
        source=row["source"],
        revision_id=page["revision_now"],
        start=span[0],
        end=span[1],
        of=of,
        entity_id=row["entity_id"],
        key=row["key"],
        answer_id=row["answer_id"],
    )
