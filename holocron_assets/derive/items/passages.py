"""The passages of pages that a space embeds."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from holocron_assets.derive.interrogations.settings import Embedding
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_CHUNKS

_COLUMNS = ("title", "title_key", "passage_id", "headings", "text")


@dataclass(frozen=True)
class PagePassages:
    """The passages of a page, as a space embeds them.

    Attributes:
        texts: by the ids of the passages, in their order.
    """

    texts: Mapping[str, str]

    @cached_property
    def content_hash(self) -> str:
        """The 128-bit xxhash of ids and texts."""
        return content_hash(json.dumps(list(self.texts.items())))


def passages_to_embed(lake: Lake, embedding: Embedding, batch: str) -> Mapping[int, PagePassages]:
    """The passages of each page of a batch, by title key; a page without a text has none.

    Raises:
        MissingPartitionError: the batch has no `page_chunks` yet.
    """
    texts: dict[int, dict[str, str]] = defaultdict(dict)
    for row in read_partition(lake, PAGE_CHUNKS, batch, _COLUMNS):
        texts[row["title_key"]][row["passage_id"]] = embedding.text(
            row["title"], row["headings"], row["text"]
        )
    return {key: PagePassages(found) for key, found in texts.items()}
