"""A space without a model: words point in directions of their own, so texts that share words are near."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from holocron_assets.derive.engine.embedding import packed_vector
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.settings import Embedding
from holocron_assets.derive.interrogations.spaces import Space
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_CHUNKS
from holocron_assets.retrieval.asking import QueryVector
from holocron_assets.retrieval.index.full_text import name_words
from holocron_assets.retrieval.index.index import SearchIndex

if TYPE_CHECKING:
    from sample_holocron import Holocron

DIMENSIONS = 96
DIGEST = "d" * 64


def space(key: str = "words", **changes: object) -> Interrogation:
    """A space as its file declares it."""
    declared = {
        "key": key,
        "version": 1,
        "title": "Words of a passage",
        "model": "words:1",
        "priority": 100,
        "embedding": Embedding(dimensions=DIMENSIONS),
        "timeout_seconds": 60.0,
    }
    return Interrogation.model_validate(Space.model_validate({**declared, **changes}).declared())


def word_vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """The sum of the directions of a text's words."""
    total = np.zeros(dimensions)
    for word in set(name_words(text)):
        total += np.random.default_rng(zlib.crc32(word.encode())).standard_normal(dimensions)
    return [float(number) for number in total]


def embedded_lake(
    root: Path, own: Interrogation, *, digest: str = DIGEST, inputs: Mapping[str, str] | None = None
) -> Lake:
    """The lake of a folder, with the vectors of all of its passages; `inputs` are those of their files."""
    lake = Lake(root, (own.table,))
    assert own.embedding
    for batch in lake.partitions(PAGE_CHUNKS):
        rows = [
            {
                **{name: chunk[name] for name in ("source", "batch", "title", "title_key", "revision_id")},
                "item_id": str(chunk["title_key"]),
                "position": chunk["position"],
                "chunk": None,
                "passage_id": chunk["passage_id"],
                "vector": packed_vector(word_vector(chunk["text"], own.embedding.dimensions)),
                "supported": True,
                "model": "words:1",
                "model_digest": digest,
                "result_key": "k",
                "run_id": "r",
            }
            for chunk in read_partition(lake, PAGE_CHUNKS, batch)
        ]
        write_partition(lake, own.table, batch, rows, inputs=inputs)
    return lake


def searched_sample(sample: "Holocron", folder: Path) -> Lake:
    """A copy of the finished sample, embedded and indexed."""
    sample.copy_to(folder)
    lake = embedded_lake(folder / "data", space())
    SearchIndex(lake).update()
    return lake


def embed(text: str, embedded: Mapping[str, int]) -> QueryVector:
    """What `retrieval.asking.query_vector` is to a space with a model."""
    return QueryVector(next(iter(embedded)), DIGEST, word_vector(text))
