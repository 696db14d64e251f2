"""The full-text index of names and passages, by tantivy. One process writes; readers see whole commits."""

import json
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import tantivy

from holocron_assets.lake.declaration.keys import content_hash, title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.retrieval.index.contents import IndexedPage
from holocron_assets.retrieval.index.signs import has_signs, signs_analyzer, unbroken_runs

FILTERS = ("type", "continuity", "source", "state")
"""What a search can be narrowed to."""

LONGEST_TITLE = 255
"""Bytes of UTF-8 that a wiki's title has at most. Where a language writes no spaces, it may be one word."""

_WRITER_BYTES = 64_000_000
_LONGEST_WORD = 60
_ACCENTS = re.compile("[\u0300-\u036f]")
_WORDS, _NAMES, _SIGNS = "holocron_words", "holocron_names", "holocron_signs"
_OF_SYSTEM = re.compile(r"Os \{ code: (\d+)")
"""What tantivy says of an error of the system. Of a file that is gone it says something else."""
_SHOWN = ("title", "source", "type", "continuity", "state", "entity_id", "entity_type", "name", "revision_id")
_PLACE = ("passage_id", "position", "headings", "text", "start_offset", "end_offset")


@cache
def words_analyzer() -> tantivy.TextAnalyzer:
    """How texts become words: without case, accents and the endings of English words."""
    filters = (tantivy.Filter.lowercase(), tantivy.Filter.ascii_fold(), tantivy.Filter.stemmer("english"))
    return _analyzer(_LONGEST_WORD, *filters)


class UnreadableIndexError(Exception):
    """The index cannot be searched; the message says why, and what makes it anew."""


def unmarked(text: str) -> str:
    """A text without accents that stand on no letter of their own, and would part a word: Ma\u0331ruhn."""
    return _ACCENTS.sub("", unicodedata.normalize("NFC", text))


def name_words(text: str) -> list[str]:
    """The words of a name or of what is searched, without case and accents."""
    return list(_names_analyzer().analyze(unmarked(text)))


def index_to_write(folder: Path) -> tantivy.Index:
    """Open the index in a folder, or make an empty one there."""
    folder.mkdir(parents=True, exist_ok=True)
    return _with_analyzers(tantivy.Index(_schema(), str(folder)))


def index_to_read(folder: Path) -> tantivy.Index:
    """Open the index in a folder.

    Raises:
        UnreadableIndexError: it or a file of it is gone or damaged, or another version made it.
        OSError: the system cannot read it now.
    """
    try:
        index = tantivy.Index.open(str(folder))
        if index.schema != _schema():
            raise UnreadableIndexError("another version made the search index: `holocron run` makes it anew")
        index.searcher().doc_freq("source", "")  # some files are opened only by a search
    except ValueError as error:  # tantivy has no other, whatever went wrong
        if of_system := _OF_SYSTEM.search(str(error)):
            code = int(of_system[1])
            raise OSError(code, os.strerror(code)) from error
        raise UnreadableIndexError("the search index is damaged: `holocron run` makes it anew") from error
    return _with_analyzers(index)


class IndexWriter:
    """The only writer of an index; its caller holds the index's lock."""

    def __init__(self, index: tantivy.Index) -> None:
        """Open the index for writing."""
        self._writer = index.writer(_WRITER_BYTES, 1)

    def replace(self, batch: str, pages: Iterable[IndexedPage]) -> int:
        """Replace what is indexed of a batch; readers see it after `commit`.

        Returns:
            The number of passages.
        """
        self._writer.delete_documents_by_term("batch", batch)
        passages = 0
        for page in pages:
            self._writer.add_document(_page_document(batch, page))
            for passage in page.passages:
                self._writer.add_document(_passage_document(batch, page.row, passage))
                passages += 1
        return passages

    def commit(self) -> None:
        """Make all replacements durable and visible at once."""
        self._writer.commit()
        self._writer.garbage_collect_files()

    def close(self) -> None:
        """Wait until segments are merged, and give the index back."""
        self._writer.wait_merging_threads()


def passage_number(passage_id: str) -> int:
    """64 bits of a passage's id, which a search compares without reading what is stored of the passage."""
    return int(content_hash(passage_id)[:16], 16)


def stored_row(document: Any) -> dict[str, Any]:
    """What is shown of a hit: the row that its document holds."""
    row: dict[str, Any] = json.loads(document.get_first("row"))
    return row


@cache
def _names_analyzer() -> tantivy.TextAnalyzer:
    return _analyzer(LONGEST_TITLE + 1, tantivy.Filter.lowercase(), tantivy.Filter.ascii_fold())


def _analyzer(longest: int, *filters: tantivy.Filter) -> tantivy.TextAnalyzer:
    """Splits texts into words; those of `longest` bytes of UTF-8 and more are left out."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for one in (tantivy.Filter.remove_long(longest), *filters):
        builder = builder.filter(one)
    return builder.build()


def _with_analyzers(index: tantivy.Index) -> tantivy.Index:
    index.register_tokenizer(_WORDS, words_analyzer())
    index.register_tokenizer(_NAMES, _names_analyzer())
    index.register_tokenizer(_SIGNS, signs_analyzer())
    return index


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in ("batch", "passage_id", "whole_names", *FILTERS):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("names", tokenizer_name=_NAMES)
    for name in ("place", "text"):
        builder.add_text_field(name, tokenizer_name=_WORDS)
    builder.add_text_field("signs", tokenizer_name=_SIGNS)
    builder.add_unsigned_field("passage", fast=True)
    builder.add_integer_field("page", indexed=True, fast=True)
    builder.add_bytes_field("row", stored=True)
    return builder.build()


def _page_document(batch: str, page: IndexedPage) -> tantivy.Document:
    names = list(dict.fromkeys([page.row["title"], page.row["name"], *page.row["names"]]))
    shown = {**_shown(page.row, page.passages[0] if page.passages else None), "names": names}
    wholes = [" ".join(name_words(name)) for name in names]
    return _document(batch, page.row, shown, names=[*map(unmarked, names)], whole_names=wholes)


def _passage_document(batch: str, page: Row, passage: Row) -> tantivy.Document:
    place = " ".join([page["title"], *passage["headings"]])
    words = {"place": [unmarked(place)], "text": [unmarked(passage["text"])]}
    fields = {"passage_id": [passage["passage_id"]], **words}
    # Most passages have none of these letters. The index leaves a gap between two values: letters that stand
    # apart are not in a row then. What is empty parts the place from the text once more.
    with_signs = [one for one in (place, passage["text"]) if has_signs(one)]
    fields["signs"] = [run for one in with_signs for run in (*unbroken_runs(one), "")]
    return _document(batch, page, _shown(page, passage), **fields)


def _shown(page: Row, passage: Row | None) -> dict[str, Any]:
    place = {name: passage[name] if passage else None for name in _PLACE}
    return {**{name: page[name] for name in _SHOWN}, **place}


def _document(batch: str, page: Row, shown: Mapping[str, Any], **fields: list[str]) -> tantivy.Document:
    document = tantivy.Document(batch=[batch], **{name: [page[name]] for name in FILTERS}, **fields)
    document.add_unsigned("passage", passage_number(shown["passage_id"]) if shown["passage_id"] else 0)
    document.add_integer("page", title_key(page["source"], page["title"]))
    document.add_bytes("row", json.dumps(shown, ensure_ascii=False).encode())
    return document
