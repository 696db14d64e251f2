"""Which names are compared at all: those that stand near each other in a block. Work is linear in names."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Places = npt.NDArray[np.int64]

REACH = 24
"""Members of a block that each is compared with: the next ones in its order.

A block of one more is compared completely; in a larger one, who stands near whom is up to its order.
"""


def neighbours(blocks: Sequence[str | None], order: Sequence[str]) -> tuple[Places, Places]:
    """Pairs of places whose blocks are one and that are near each other in it.

    Args:
        blocks: the block of each place; None for what stands in no block.
        order: where each place stands in its block; of equal ones the smaller place stands first.

    Returns:
        The smaller place of each pair, and the larger.
    """
    ranked = pa.table({"block": pa.array(blocks, pa.string()), "order": pa.array(order, pa.string())})
    standing = len(ranked) - ranked["block"].null_count
    by_block = [("block", "ascending"), ("order", "ascending")]
    places: Places = pc.sort_indices(ranked, by_block).to_numpy()[:standing].astype(np.int64)
    codes = pc.dictionary_encode(ranked["block"]).combine_chunks().indices.fill_null(-1).to_numpy()[places]
    found = [_at_distance(codes, places, distance) for distance in range(1, REACH + 1)]
    one, other = (np.concatenate(side) for side in zip(*found, strict=True))
    return np.minimum(one, other), np.maximum(one, other)


def _at_distance(codes: npt.NDArray[np.int32], places: Places, distance: int) -> tuple[Places, Places]:
    in_one_block = codes[:-distance] == codes[distance:]
    return places[:-distance][in_one_block], places[distance:][in_one_block]
