"""Reads what the model sees of pages: their own text and signals, who links to them, and what they mean."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass

from holocron_assets.classify.learned.features import Features, infobox_is_known, page_features
from holocron_assets.classify.learned.meaning import Meanings
from holocron_assets.classify.learned.naming import FieldsOfBatch, naming_fields
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.freshness import LakeListings
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_SIGNALS, PAGES, RULE_CLASSIFICATIONS


@dataclass(frozen=True)
class SeenPages:
    """The pages of a source.

    Attributes:
        lake: where they are.
        naming: gives the infobox fields that name them.
        meanings: their vectors.
    """

    lake: Lake
    naming: FieldsOfBatch
    meanings: Meanings

    def of_batch(self, batch: str, wanted: AbstractSet[int]) -> Iterator[tuple[Row, Row, Features]]:
        """The signals of some pages of a batch, the evidence of the rules, and the features.

        Args:
            batch: which.
            wanted: the pages' title keys.
        """
        if not wanted:
            return
        named, meaning = self.naming(batch), self.meanings.of_batch(batch)
        columns = ["title_key", "evidence"]
        rules = {
            row["title_key"]: row for row in read_partition(self.lake, RULE_CLASSIFICATIONS, batch, columns)
        }
        columns = ["title_key", "status", "wikitext"]
        texts = {
            row["title_key"]: row["wikitext"]
            for row in read_partition(self.lake, PAGES, batch, columns)
            if row["title_key"] in wanted and row["status"] == "ok"
        }
        for signals in read_partition(self.lake, PAGE_SIGNALS, batch):
            if (key := signals["title_key"]) in wanted and key in texts:
                hides_infobox = infobox_is_known(rules[key])
                features = page_features(
                    signals, texts[key] or "", hides_infobox=hides_infobox, named_in=named.get(key, ())
                )
                yield signals, rules[key], {**features, **meaning.get(key, {})}


@contextmanager
def seen_pages(listings: LakeListings, source: str, batches: Sequence[str]) -> Iterator[SeenPages]:
    """Read what the model sees of a source's pages; who links to whom is read once.

    Args:
        listings: of the lake.
        source: which.
        batches: the source's classified batches.
    """
    with naming_fields(listings.lake, source) as naming:
        yield SeenPages(listings.lake, naming, Meanings(listings, batches))
