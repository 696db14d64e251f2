"""The data about an item that code reads: a query's rows, or the argument of a Python function."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from holocron_assets.derive.code.answers import plain_value
from holocron_assets.derive.evidence.page_parts import PageParts
from holocron_assets.derive.evidence.queries import QueryRows
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.titles import Site

_NOT_CONTENT = frozenset(
    {
        *("batch", "extraction_ms", "page_id", "position", "revision_id", "run_id", "signals_version"),
        *("interlanguage_links", "merger_notices"),
    }
)
"""Columns that do not change what the page says: where a row is, how it was made, parts of its text."""


@dataclass(frozen=True)
class FoundRows:
    """The rows that a query found for an item.

    Attributes:
        rows: as JSON can hold them.
    """

    rows: tuple[Row, ...]

    @cached_property
    def content_hash(self) -> str:
        """The 128-bit xxhash of the rows."""
        return _hash(self.rows)


@dataclass(frozen=True)
class PageToRead:
    """A page, as a Python function gets it. Nothing in it can be changed.

    Attributes:
        title: its canonical title.
        source: its source.
        language: what its wiki says of its language, such as 'en'; None if it says nothing.
        wikitext: its text as it was fetched.
    """

    title: str
    source: str
    language: str | None
    wikitext: str = field(repr=False)
    _parts: PageParts = field(repr=False, compare=False)

    @classmethod
    def of(cls, page: PageParts) -> "PageToRead":
        """A page to read, from the page's rows."""
        return cls(
            title=page.page["title"],
            source=page.page["source"],
            language=page.site.language,
            wikitext=page.page.get("wikitext") or "",
            _parts=page,
        )

    @cached_property
    def signals(self) -> Mapping[str, Any]:
        """Its row of `page_signals`, without the columns about its place and origin."""
        row: Mapping[str, Any] = frozen(_content(self._parts.signals))
        return row

    @property
    def content(self) -> list[Any]:
        """All that can be read of it, as JSON can hold it."""
        return [self.title, self.source, self.language, self.wikitext, _content(self._parts.signals)]

    @property
    def text(self) -> str:
        """The whole page as clean text."""
        return self._parts.text

    @property
    def site(self) -> Site:
        """The wiki that it is on, which says how titles are written."""
        return self._parts.site

    def part(self, name: str) -> str:
        """A part as clean text, empty where the page has none.

        Args:
            name: 'lead', 'text', 'infobox', 'categories' or 'sections'.

        Raises:
            KeyError: there is no such part.
        """
        return self._parts.part(name)


@dataclass(frozen=True)
class CodeItem:
    """The argument of a Python function: one item. Nothing in it can be changed.

    Attributes:
        variables: what a question's template may name, such as `title`.
        pages: the page, or the entity's page, by the name 'page'; a pair's pages by 'first' and 'second'.
            Pages that the lake lacks are left out.
        inputs: the rows that the interrogations in `inputs` got about it, by their keys.
    """

    variables: Mapping[str, Any]
    pages: Mapping[str, PageToRead]
    inputs: Mapping[str, Sequence[Row]]

    @property
    def page(self) -> PageToRead:
        """The page that the item is about.

        Raises:
            KeyError: its page is not in the lake, or it is about two.
        """
        return self.pages["page"]

    @cached_property
    def content_hash(self) -> str:
        """The 128-bit xxhash of all that the function can read."""
        pages = {role: page.content for role, page in self.pages.items()}
        return _hash([self.variables, pages, self.inputs])


def code_item(
    variables: Mapping[str, Any], pages: Mapping[str, PageParts], inputs: Mapping[str, Sequence[Row]]
) -> CodeItem:
    """The argument of a function for an item with these variables, pages, and answers of its inputs."""
    to_read = {role: PageToRead.of(page) for role, page in pages.items()}
    return CodeItem(frozen(variables), MappingProxyType(to_read), frozen(inputs))


def found_rows(found: QueryRows) -> FoundRows:
    """The rows that a query found for an item, as JSON can hold them."""
    rows = (dict(zip(found.columns, row, strict=True)) for row in found.rows)
    return FoundRows(tuple(plain_value(row) for row in rows))


def frozen(value: Any) -> Any:
    """A value of mappings and lists that cannot be changed."""
    if isinstance(value, Mapping):
        return MappingProxyType({name: frozen(part) for name, part in value.items()})
    if isinstance(value, list | tuple):
        return tuple(frozen(part) for part in value)
    return value


def _content(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in _NOT_CONTENT}


def _hash(value: Any) -> str:
    return content_hash(json.dumps(value, default=_as_json, sort_keys=True))


def _as_json(value: object) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)
