"""Evidence bundles: the evidence about an item, cut to limits. The same data gives the same bundle."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any

from holocron_assets.derive.evidence.page_parts import PageParts, query_values
from holocron_assets.derive.evidence.queries import AskSql, QueryError, QueryRows
from holocron_assets.derive.evidence.quotes import is_quoted
from holocron_assets.derive.evidence.sampling import cut_to_bytes, fair_shares, sampled, table_to_bytes
from holocron_assets.derive.evidence.specs import (
    MOST_BYTES,
    MOST_COLUMNS,
    MOST_ITEMS,
    AnswersEvidence,
    ChunkEvidence,
    EvidenceSpec,
    InlineEvidence,
    PageEvidence,
    SearchEvidence,
    SqlEvidence,
    SqlResultEvidence,
)
from holocron_assets.lake.declaration.keys import content_hash

_FENCE_DIGITS = 8
_BETWEEN = "\n\n"
_ALL_PARTS = ("infobox", "categories", "text")
_QUOTABLE = frozenset({"page", "chunk", "search"})

Redact = Callable[[str], str]


class EvidenceError(ValueError):
    """Evidence cannot be gathered; the message names the page and the reason.

    Attributes:
        is_transient: whether the same evidence may be gathered later.
    """

    def __init__(self, reason: str, *, is_transient: bool = False) -> None:
        """Say why."""
        super().__init__(reason)
        self.is_transient = is_transient


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """One piece of evidence, redacted and cut.

    Attributes:
        number: its place in the bundle, from 1.
        source: 'inline', 'page', 'chunk', 'sql_result', 'sql', 'answers' or 'search'.
        label: its name in the prompt.
        text: what the model reads, never empty.
    """

    number: int
    source: str
    label: str
    text: str

    @property
    def id(self) -> str:
        """Its place and the start of its hash: the same for the same evidence."""
        return f"e{self.number}-{self.content_hash[:_FENCE_DIGITS]}"

    @property
    def content_hash(self) -> str:
        """The 128-bit xxhash of source, label and text."""
        return content_hash(json.dumps([self.source, self.label, self.text]))


@dataclass(frozen=True, slots=True)
class Cut:
    """Something that was left out.

    Attributes:
        item: number of the item that it was cut from; None for the bundle.
        kind: 'items', 'rows', 'columns', 'item_bytes' or 'bundle_bytes'.
        before: the count or bytes before the cut.
        after: the count or bytes after the cut.
    """

    item: int | None
    kind: str
    before: int
    after: int


@dataclass(frozen=True)
class Bundle:
    """All evidence about one item.

    Attributes:
        items: the pieces, in the order in which the interrogation names them.
        cuts: what was left out.
    """

    items: tuple[EvidenceItem, ...]
    cuts: tuple[Cut, ...]

    @cached_property
    def text(self) -> str:
        """The text in the prompt: each item between lines that no item can contain.

        The lines carry a hash of all items, which is changed until no item's text holds it.
        """
        return _BETWEEN.join(_block(item, self._fence) for item in self.items)

    @cached_property
    def _fence(self) -> str:
        contents = " ".join(item.content_hash for item in self.items)
        fence = content_hash(contents)[:_FENCE_DIGITS]
        while any(fence in item.text.lower() for item in self.items):
            contents += fence
            fence = content_hash(contents)[:_FENCE_DIGITS]
        return fence

    @cached_property
    def content_hash(self) -> str:
        """The 128-bit xxhash of the text in the prompt."""
        return content_hash(self.text)

    def supports(self, quote: str) -> bool:
        """Whether a quote is in the parts of the bundle that are the text of a page."""
        return any(is_quoted(quote, item.text) for item in self.items if item.source in _QUOTABLE)

    def to_json(self) -> dict[str, Any]:
        """The bundle as JSON values, for `evidence.json`."""
        return {
            "content_hash": self.content_hash,
            "items": [
                {"id": item.id, **asdict(item), "content_hash": item.content_hash, "bytes": _size(item.text)}
                for item in self.items
            ],
            "cuts": [asdict(cut) for cut in self.cuts],
        }


NO_EVIDENCE = Bundle((), ())


def build_bundle(  # noqa: PLR0913 - two name the evidence, two its sources, two how it is cut
    specs: Sequence[EvidenceSpec],
    pages: Mapping[str, PageParts],
    ask_sql: AskSql | None = None,
    *,
    answers: Mapping[str, QueryRows] | None = None,
    values: Mapping[str, Any] | None = None,
    redact: Redact | None = None,
    limit_bytes: int = MOST_BYTES,
) -> Bundle:
    """Gather the evidence about one item.

    Args:
        specs: the interrogation's list of evidence.
        pages: the page by the name 'page', or a pair's by 'first' and 'second'.
        ask_sql: asks queries; needed only where a spec has one.
        answers: answers of other interrogations, by their keys.
        values: values that queries may name; by default, those of the pages.
        redact: takes secrets out of a text, before anything is cut, hashed or shown.
        limit_bytes: the most UTF-8 bytes of `Bundle.text`.

    Raises:
        EvidenceError: a query fails, or evidence names a page or chunk that the item does not have.
    """
    named = query_values(pages) if values is None else values
    gatherer = _Gatherer(pages, named, ask_sql, answers or {}, redact or str)
    try:
        found = [piece for spec in specs for piece in gatherer.pieces(spec)]
    except (QueryError, KeyError) as error:
        titles = [page.page["title"] for page in pages.values()] or [gatherer.values.get("title")]
        about = " and ".join(repr(str(title)) for title in titles)
        # A value that a query was given, or failed on, may be a secret
        reason = gatherer.redact(f"evidence about {about}: {error}")
        is_transient = isinstance(error, QueryError) and error.is_transient
        raise EvidenceError(reason, is_transient=is_transient) from None
    shown = [piece for piece in found if piece.text]
    left_out = (Cut(None, "items", len(shown), MOST_ITEMS),) if len(shown) > MOST_ITEMS else ()
    items, cuts = _fitted(shown[:MOST_ITEMS], min(limit_bytes, MOST_BYTES))
    return Bundle(tuple(items), (*left_out, *cuts))


@dataclass(frozen=True, slots=True)
class _Piece:
    """Evidence that has no number yet.

    Attributes:
        source: as in `EvidenceItem`.
        label: as in `EvidenceItem`.
        text: its text, cut to its own limits.
        cuts: what was cut from it, without an item's number yet.
        cut: a function that cuts it to a lower limit in bytes.
    """

    source: str
    label: str
    text: str
    cuts: tuple[Cut, ...]
    cut: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class _Gatherer:
    pages: Mapping[str, PageParts]
    values: Mapping[str, Any]
    ask_sql: AskSql | None
    answers: Mapping[str, QueryRows]
    redact: Redact

    def pieces(self, spec: EvidenceSpec) -> Iterator[_Piece]:
        match spec:
            case InlineEvidence():
                yield self._text(spec, "note", spec.text)
            case PageEvidence():
                yield from self._parts(spec)
            case ChunkEvidence():
                yield self._chunk(spec)
            case SqlResultEvidence():
                yield self._table(spec, "table", QueryRows(spec.columns, spec.values))
            case SqlEvidence():
                yield self._table(spec, "query", self._answer(spec))
            case AnswersEvidence():
                yield self._table(spec, f"answers of {spec.of}", self.answers[spec.of])
            case SearchEvidence():
                found = self.answers[spec.of]
                passages = (dict(zip(found.columns, row, strict=True)) for row in found.rows)
                yield from (self._text(spec, "passage", _passage(one)) for one in passages)

    def _text(self, spec: EvidenceSpec, default_label: str, text: str) -> _Piece:
        return _piece(spec, default_label, partial(cut_to_bytes, self.redact(text)))

    def _page(self, role: str) -> PageParts:
        if role not in self.pages:
            raise KeyError(f"there is no page {role!r}; there is {sorted(self.pages)}")
        return self.pages[role]

    def _parts(self, spec: PageEvidence) -> Iterator[_Piece]:
        page = self._page(spec.of)
        for part in _ALL_PARTS if spec.part == "all" else (spec.part,):
            default_label = part if spec.of == "page" else f"{part} of the {spec.of} page"
            yield self._text(spec, default_label, page.part(part))

    def _chunk(self, spec: ChunkEvidence) -> _Piece:
        chunk = self._page("page").chunk
        if chunk is None:
            raise KeyError("there is no chunk; the interrogation must say chunk_characters")
        return self._text(spec, "part of the page", chunk.text)

    def _answer(self, spec: SqlEvidence) -> QueryRows:
        if self.ask_sql is None:
            raise QueryError("nothing was given to ask a query with")
        return self.ask_sql(spec.sql, self.values, spec.timeout_seconds)

    def _table(
        self, spec: SqlEvidence | SqlResultEvidence | AnswersEvidence, default_label: str, found: QueryRows
    ) -> _Piece:
        counts = {
            "rows": (len(found.rows), min(len(found.rows), spec.rows)),
            "columns": (len(found.columns), min(len(found.columns), MOST_COLUMNS)),
        }
        cuts = [Cut(None, kind, before, after) for kind, (before, after) in counts.items() if after < before]
        header, *rows = map(self._line, (found.columns, *sampled(found.rows, spec.rows, spec.sample)))
        cut = partial(table_to_bytes, header, rows, spec.sample) if rows else partial(cut_to_bytes, "")
        return _piece(spec, default_label, cut, cuts)

    def _line(self, values: Sequence[Any]) -> str:
        return self.redact(" | ".join(map(_cell, values[:MOST_COLUMNS])))


def _piece(
    spec: EvidenceSpec, default_label: str, cut: Callable[[int], str], cuts: Sequence[Cut] = ()
) -> _Piece:
    before, text = _size(cut(sys.maxsize)), cut(spec.limit_bytes)
    if _size(text) < before:
        cuts = (*cuts, Cut(None, "item_bytes", before, _size(text)))
    return _Piece(spec.source, spec.label or default_label, text, tuple(cuts), cut)


def _fitted(pieces: Sequence[_Piece], limit: int) -> tuple[list[EvidenceItem], list[Cut]]:
    """The pieces as items, the longest cut until all fit; a piece of which nothing is left is dropped."""
    items = [
        EvidenceItem(place, piece.source, piece.label, "") for place, piece in enumerate(pieces, start=1)
    ]
    around = sum(_size(_block(item, "f" * _FENCE_DIGITS)) + len(_BETWEEN) for item in items)
    sizes = [_size(piece.text) for piece in pieces]
    kept: list[EvidenceItem] = []
    cuts: list[Cut] = []
    for item, piece, share in zip(items, pieces, fair_shares(sizes, limit - around), strict=True):
        before = _size(piece.text)
        text = piece.text if share >= before else piece.cut(share)
        if text:
            kept.append(replace(item, text=text))
        cuts += [replace(cut, item=item.number) for cut in piece.cuts]
        if _size(text) < before:
            cuts.append(Cut(item.number, "bundle_bytes", before, _size(text)))
    return kept, cuts


def _block(item: EvidenceItem, fence: str) -> str:
    return f'<evidence-{fence} number="{item.number}" label="{item.label}">\n{item.text}\n</evidence-{fence}>'


def _passage(row: Mapping[str, Any]) -> str:
    """A passage that was found, after the title of its page and its headings."""
    return f"{' - '.join((row['from_title'], *row['headings']))}\n{row['text']}"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    is_plain = not isinstance(value, bool | list | dict)
    text = str(value) if is_plain else json.dumps(value, ensure_ascii=False, default=str)
    return " ".join(text.split()).replace(" | ", " / ")


def _size(text: str) -> int:
    return len(text.encode())
