"""Which names are compared: those near each other in a block. The work grows in proportion to the names."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

REACH = 24
"""How many members of a block each one is compared with: the next ones in its order.

A block of one more is compared completely; in a larger one, its order decides what is compared.
"""


class Wanted(NamedTuple):
    """Which pairs are to be compared.

    Attributes:
        places: for each place, whether any pair with it may be wanted.
        pairs: for the places on both sides of pairs, which pairs are wanted.
    """

    places: Mask
    pairs: Callable[[Places, Places], Mask]


def neighbours(blocks: Sequence[str | None], order: Sequence[str], wanted: Wanted) -> tuple[Places, Places]:
    """Wanted pairs of places that are near each other in the same block.

    Args:
        blocks: the block of each place; None for a place without a block.
        order: the position of each place in its block; of equal ones the smaller place comes first.
        wanted: which pairs to find.

    Returns:
        The smaller place of each pair, and the larger.
    """
    asked = {blocks[place] for place in np.flatnonzero(wanted.places).tolist()} - {None}
    standing = [place for place, block in enumerate(blocks) if block in asked]
    names = pa.array([blocks[place] for place in standing], pa.string()).dictionary_encode().indices
    texts = pa.array([order[place] for place in standing], pa.string())
    table = pa.table({"block": names, "order": texts, "place": pa.array(standing, pa.int64())})
    table = table.sort_by([(name, "ascending") for name in ("block", "order", "place")])
    codes, places = table["block"].to_numpy(), table["place"].to_numpy()
    found = [_at_distance(codes, places, distance, wanted) for distance in range(1, REACH + 1)]
    one, other = (np.concatenate(side) for side in zip(*found, strict=True))
    return one, other


def _at_distance(codes: Places, places: Places, distance: int, wanted: Wanted) -> tuple[Places, Places]:
    in_one_block = codes[:-distance] == codes[distance:]
    one, other = places[:-distance][in_one_block], places[distance:][in_one_block]
    kept = wanted.pairs(one, other)
    return np.minimum(one, other)[kept], np.maximum(one, other)[kept]
