"""The vectors of a space that the learned model sees."""

import math
from collections.abc import Mapping
from pathlib import Path

import pytest
from embedded import DIGEST, space
from review_lake import SOURCE, write

from holocron_assets.classify.learned.meaning import Meanings
from holocron_assets.derive.engine.embedding import packed_vector
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import read_footer, read_partition, write_partition
from holocron_assets.lake.freshness import LakeListings
from holocron_assets.lake.place.paths import Lake

WORDS, OTHERS = space().table, space("others").table
BATCH, OTHER_BATCH = "sample-000001", "sample-000002"
BY_RULES = {"rule_classifications": "1"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path, (WORDS, OTHERS))


def embed(
    lake: Lake,
    vectors: Mapping[str, list[list[float]]],
    *,
    table: Table = WORDS,
    batch: str = BATCH,
    inputs: Mapping[str, str] = BY_RULES,
) -> None:
    """Write the vectors of pages' passages, by title."""
    rows = [
        {
            "source": SOURCE,
            "batch": batch,
            "title": title,
            "item_id": title,
            "position": place,
            "passage_id": str(place),
            "vector": packed_vector(vector),
            "model_digest": DIGEST,
        }
        for title, of_passages in vectors.items()
        for place, vector in enumerate(of_passages)
    ]
    write(lake, table, batch, rows)
    whole = read_partition(lake, table, batch)
    write_partition(lake, table, batch, whole, inputs=inputs)


def meanings(lake: Lake, *batches: str) -> Meanings:
    return Meanings(LakeListings(lake), batches or (BATCH,))


def test_a_page_means_the_mean_direction_of_its_passages(lake: Lake) -> None:
    embed(lake, {"Vessa": [[1.0, 0.0], [0.0, 5.0]], "Thuum": [[0.0, -2.0]]})
    found = meanings(lake).of_batch(BATCH)
    first, second = f"meaning by words {DIGEST[:8]}: 0", f"meaning by words {DIGEST[:8]}: 1"
    half = pytest.approx(math.sqrt(0.5), abs=1e-5)
    assert found[title_key(SOURCE, "Vessa")] == {first: half, second: half}
    assert found[title_key(SOURCE, "Thuum")] == {first: 0.0, second: -1.0}


def test_directions_that_cancel_each_other_mean_nothing(lake: Lake) -> None:
    embed(lake, {"Vessa": [[1.0, 0.0], [-1.0, 0.0]]})
    [found] = meanings(lake).of_batch(BATCH).values()
    assert set(found.values()) == {0.0}


@pytest.mark.parametrize(
    "inputs",
    [
        {"page_types": "1"},
        {**BY_RULES, "queries": "1"},
        {**BY_RULES, "unanswered": "3"},
    ],
    ids=["chosen by the merged types", "chosen by a query", "not done"],
)
def test_vectors_that_may_follow_from_the_model_or_are_not_done_are_not_seen(
    lake: Lake, inputs: Mapping[str, str]
) -> None:
    embed(lake, {"Vessa": [[1.0, 0.0]]}, inputs=inputs)
    assert meanings(lake).of_batch(BATCH) == {}
    assert meanings(lake).content_id(BATCH) == ""


def test_the_space_that_is_done_with_most_batches_is_seen(lake: Lake) -> None:
    embed(lake, {"Vessa": [[1.0, 0.0]]})
    for batch in (BATCH, OTHER_BATCH):
        embed(lake, {"Vessa": [[0.0, 1.0]]}, table=OTHERS, batch=batch)
    seen = meanings(lake, BATCH, OTHER_BATCH)
    [found] = seen.of_batch(BATCH).values()
    assert all(name.startswith("meaning by others ") for name in found)
    footer = read_footer(lake, OTHERS, BATCH)
    assert footer
    assert seen.content_id(BATCH) == footer.content_id


def test_without_a_space_nothing_is_seen(tmp_path: Path) -> None:
    assert meanings(Lake(tmp_path)).of_batch(BATCH) == {}
