"""The arrays of one batch of one space: signs to scan, numbers of 8 bits to compare, and what each row is."""

from base64 import b64decode
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from holocron_assets.derive.engine.embedding import unpacked_vectors
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.durable import replacing
from holocron_assets.retrieval.index.full_text import FILTERS

NUMBERS = "numbers.int8"
COLUMNS = (*FILTERS, "model")
"""What each passage has a code for."""

PASSAGE = np.dtype([("passage", np.uint8, 16), ("page", np.int64)])
"""What a row is: a passage by its id, and its page by its title key."""

Codes = dict[str, int]
"""A number for each value of a filter, as 'type=Droid', and for each build of a model, as 'model=...'."""


@dataclass(frozen=True)
class Scanned:
    """The arrays that a search scans.

    Attributes:
        signs: a column of bits a passage, as unsigned 64-bit numbers; rows take five times longer to compare.
        codes: a column of numbers a passage, one for each of `COLUMNS`.
        passages: the id of each, 16 bytes, and its page's title key.
    """

    signs: np.ndarray
    codes: np.ndarray
    passages: np.ndarray

    @classmethod
    def read(cls, folder: Path) -> "Scanned":
        """Map the arrays of a folder: the system reads what is used, and may forget it again."""
        return cls(*(np.asarray(np.load(file, mmap_mode="r")) for file in cls.files(folder)))

    @classmethod
    def files(cls, folder: Path) -> list[Path]:
        """The files of the arrays in a folder, in the order in which they are written."""
        return [folder / f"{one.name}.npy" for one in fields(cls)]

    @classmethod
    def joined(cls, parts: Sequence["Scanned"]) -> "Scanned":
        """The arrays of some batches of one space, one after the other."""
        return cls(*(np.concatenate([getattr(part, one.name) for part in parts], -1) for one in fields(cls)))

    def write(self, folder: Path) -> None:
        """Write them into a folder, each array whole."""
        folder.mkdir(parents=True, exist_ok=True)
        for target, array in zip(self.files(folder), (self.signs, self.codes, self.passages), strict=True):
            with replacing(target) as aside, aside.open("wb") as file:
                np.save(file, np.ascontiguousarray(array))

    def __len__(self) -> int:
        """The number of passages."""
        return len(self.passages)


class Written(NamedTuple):
    """What was written of a batch.

    Attributes:
        vectors: how many.
        dimensions: numbers of each.
    """

    vectors: int
    dimensions: int


def write_arrays(
    folder: Path, answers: pa.Table, pages: Mapping[int, Row], current: frozenset[str], codes: Codes
) -> Written:
    """Write the arrays of a batch into an empty folder.

    Args:
        folder: where.
        answers: of the space: title_key, passage_id, vector and model_digest of each passage.
        pages: the batch's pages, with the values of filters.
        current: passages that count now. The others are left out. So are vectors that are longer or shorter
            than most of the batch.
        codes: the numbers of values so far; new values get the next.
    """
    rows = _of_one_length(
        [row for row in answers.to_pylist() if row["passage_id"] in current and row["title_key"] in pages]
    )
    values = [
        [_code(codes, name, pages[row["title_key"]][name]) for name in FILTERS]
        + [_code(codes, "model", row["model_digest"])]
        for row in rows
    ]
    dimensions = len(b64decode(rows[0]["vector"])) if rows else 0
    numbers = (
        unpacked_vectors((row["vector"] for row in rows), dimensions) if rows else np.empty((0, 64), np.int8)
    )
    passages = [(list(bytes.fromhex(row["passage_id"])), row["title_key"]) for row in rows]
    Scanned(
        signs=signs_of(numbers).T,
        codes=np.array(values, np.uint16).reshape(-1, len(COLUMNS)).T,
        passages=np.array(passages, PASSAGE),
    ).write(folder)
    with replacing(folder / NUMBERS) as aside:
        aside.write_bytes(numbers.tobytes())
    return Written(*numbers.shape)


def signs_of(numbers: np.ndarray) -> np.ndarray:
    """A bit a dimension, filled up to whole numbers of 64 bits; a row a vector."""
    bits = np.packbits(numbers > 0, axis=1)
    missing = -bits.shape[1] % 8
    filled = np.pad(bits, ((0, 0), (0, missing)))
    return np.ascontiguousarray(filled).view(np.uint64)


def _of_one_length(rows: list[Row]) -> list[Row]:
    """The rows whose vectors are as long as most: pages get vectors of new dimensions one by one."""
    lengths = Counter(len(row["vector"]) for row in rows).most_common(1)
    return [row for row in rows for length, _ in lengths if len(row["vector"]) == length]


def _code(codes: Codes, name: str, value: str) -> int:
    return codes.setdefault(f"{name}={value}", len(codes))
