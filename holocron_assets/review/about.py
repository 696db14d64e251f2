"""What a reader wants first and last: an entity in a few words, and the passages that mention it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_CHUNKS
from holocron_assets.retrieval.highlights import excerpt
from holocron_assets.retrieval.search import SearchError, searcher_of
from holocron_assets.review.reading import Reader
from holocron_assets.review.statements import Statement

_LONGEST_SUMMARY = 420
_LONGEST_PASSAGE = 300
_MOST_KEYS = 5
_MOST_NAMES = 8
_MOST_MENTIONS = 5
_SUMMARIES = ("derived_entity_summary", "derived_mention_summary")


class Summary(NamedTuple):
    """An entity in a few words.

    Attributes:
        text: the words.
        said_by: whose they are.
    """

    text: str
    said_by: str


class Mention(NamedTuple):
    """A passage of another page that has a name of the entity.

    Attributes:
        row: the passage and its page, as the search index has them.
        pieces: an excerpt in pieces, each with whether it is the name.
    """

    row: Mapping[str, object]
    pieces: Sequence[tuple[str, bool]]


def summary_of(reader: Reader, entity: Row, facts: Mapping[str, Sequence[Statement]]) -> Summary | None:
    """An entity in a few words: a model's, or else its page's first paragraph, or else some facts.

    Args:
        reader: reads the lake.
        entity: its row.
        facts: those that count, by key.
    """
    about, of_type = {"id": entity["entity_id"]}, [entity["entity_type"]]
    for table in _SUMMARIES:
        for row in reader.answers(table, "entity_id = $id and supported", about, within=of_type):
            return Summary(row["summary"], f"summed up by {row['model']}")
    lead = "title_key = $key and position = 0 and len(headings) = 0"
    for row in reader.find(PAGE_CHUNKS, lead, {"key": entity["title_key"]}, within=[entity["batch"]]):
        first = row["text"].strip().partition("\n\n")[0]
        return Summary(_beginning(" ".join(first.split())), "the beginning of its page")
    said = [f"{key.replace('_', ' ')} {facts[key][0].value}" for key in list(facts)[:_MOST_KEYS]]
    return Summary("; ".join(said), "facts that are stated") if said else None


def _beginning(text: str) -> str:
    """As many words of a text as fit; in a text without spaces, as many characters."""
    if len(text) <= _LONGEST_SUMMARY:
        return text
    whole_words = text[: _LONGEST_SUMMARY - 1].rpartition(" ")[0]
    return f"{whole_words or text[: _LONGEST_SUMMARY - 2]} …"


def mentions_of(lake: Lake, entity: Row, names: Iterable[str]) -> list[Mention]:
    """Passages of other pages that have a name of an entity, the best first; none without a search index.

    Args:
        lake: where the index is.
        entity: its row; only pages of its source are searched, without its own.
        names: its names.
    """
    wanted = list(dict.fromkeys([entity["name"], *names]))[:_MOST_NAMES]
    try:
        found = searcher_of(lake).naming(
            wanted, _MOST_MENTIONS, source=entity["source"], without=entity["title"]
        )
    except SearchError:
        return []
    return [Mention(row, list(excerpt(row["text"], places, _LONGEST_PASSAGE))) for row, places in found]
