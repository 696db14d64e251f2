"""Vectors of passages as arrays: signs to scan, and numbers of 8 bits to compare. A folder for each batch.

Scanning signs and then comparing the nearest by all their numbers finds what a comparison of all would find.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from holocron_assets.derive.engine.embedding import unpacked_vectors
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.durable import replacing
from holocron_assets.retrieval.index.full_text import FILTERS

_ID_BYTES = 16
_SIGNS, _CODES, _NUMBERS, _IDS = "signs.npy", "codes.npy", "numbers.int8", "ids.npy"
_AT_A_TIME = 65_536
_SCANNED = 4
"""Candidates of the scan for each neighbour that is wanted."""

Codes = dict[str, int]
"""A number for each value of a filter, as 'type=Droid', and for each build of a model, as 'model=...'."""


@dataclass
class SpaceArrays:
    """The vectors of one space, of all batches.

    Attributes:
        folders: of each batch's arrays.
        codes: the numbers of values.
        signs: a column of bits a passage, as unsigned 64-bit numbers.
        values: the codes of each passage's values: a column for each filter, and one for the model.
        ids: of the passages, 16 bytes each.
        starts: the row at which each batch starts, and the end.
    """

    folders: Sequence[Path]
    codes: Codes
    signs: np.ndarray = field(init=False)
    values: np.ndarray = field(init=False)
    ids: np.ndarray = field(init=False)
    starts: np.ndarray = field(init=False)
    _codes_found: dict[int, frozenset[int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Read the signs, codes and ids of all batches: 74 bytes a passage of 384 dimensions."""
        signs = [np.load(folder / _SIGNS) for folder in self.folders]
        values = [np.load(folder / _CODES) for folder in self.folders]
        by_row = np.concatenate(signs) if signs else np.empty((0, 1), np.uint64)
        self.signs = np.ascontiguousarray(by_row.T)  # five times quicker to compare than rows
        joined = np.concatenate(values) if values else np.empty((0, len(FILTERS) + 1), np.uint16)
        self.values = np.asfortranarray(joined)  # one column is compared at a time
        ids = [np.load(folder / _IDS) for folder in self.folders]
        self.ids = np.concatenate(ids) if ids else np.empty((0, _ID_BYTES), np.uint8)
        self.starts = np.cumsum([0, *map(len, signs)])

    def nearest(
        self, vector: Sequence[float], limit: int, wanted: Mapping[str, Sequence[str]]
    ) -> list[tuple[str, float]]:
        """Ids of the nearest passages with the cosine of the angle to a vector, the nearest first.

        Args:
            vector: of what is searched.
            limit: the most passages.
            wanted: values of filters, of which a passage must have one each; and the `model`'s digest.
        """
        numbers = np.asarray(vector, dtype=np.float32)
        rows = self._rows(wanted)
        signs = self.signs if rows is None else self.signs[:, rows]
        if not signs.shape[1]:
            return []
        far = _differing(signs, _signs(numbers[None])[0])
        scanned = min(limit * _SCANNED, len(far))
        nearest = np.argpartition(far, scanned - 1)[:scanned]
        return self._compared(np.sort(nearest if rows is None else rows[nearest]), numbers, limit)

    def _rows(self, wanted: Mapping[str, Sequence[str]]) -> np.ndarray | None:
        """The rows that have one of the values of each filter; None for all of them."""
        is_in: np.ndarray | None = None
        for column, name in enumerate((*FILTERS, "model")):
            codes = [self.codes.get(f"{name}={value}") for value in wanted.get(name, ())]
            if name not in wanted or set(codes) >= self._found(column):
                continue
            of_one = np.zeros(len(self.values), dtype=bool)
            for code in codes:
                if code is not None:
                    of_one |= self.values[:, column] == code
            is_in = of_one if is_in is None else is_in & of_one
        return None if is_in is None else np.flatnonzero(is_in)

    def _found(self, column: int) -> frozenset[int]:
        """The codes that a column has."""
        if column not in self._codes_found:
            self._codes_found[column] = frozenset(map(int, np.unique(self.values[:, column])))
        return self._codes_found[column]

    def _compared(self, rows: np.ndarray, numbers: np.ndarray, limit: int) -> list[tuple[str, float]]:
        places = np.searchsorted(self.starts, rows, side="right") - 1
        found: list[tuple[str, float]] = []
        for place in np.unique(places):
            own = rows[places == place] - self.starts[place]
            vectors = _rows_of(self.folders[int(place)] / _NUMBERS, own, len(numbers))
            lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(numbers)
            cosines = vectors @ numbers / np.maximum(lengths, 1e-9)
            ids = self.ids[own + self.starts[place]]
            found += zip((bytes(one).hex() for one in ids), map(float, cosines), strict=True)
        return sorted(found, key=lambda one: (-one[1], one[0]))[:limit]


def _rows_of(file: Path, rows: np.ndarray, dimensions: int) -> np.ndarray:
    """Some rows of a batch's numbers. To read a few takes less time than to map the file into memory."""
    with file.open("rb") as numbers:
        found = bytearray()
        for row in rows:
            numbers.seek(int(row) * dimensions)
            found += numbers.read(dimensions)
    return np.frombuffer(bytes(found), dtype=np.int8).reshape(-1, dimensions).astype(np.float32)


def write_arrays(
    folder: Path, answers: pa.Table, pages: Mapping[int, Row], current: frozenset[str], codes: Codes
) -> int:
    """Write the arrays of a batch into an empty folder.

    Args:
        folder: where.
        answers: of the space: title_key, passage_id, vector and model_digest of each passage.
        pages: the batch's pages, with the values of filters.
        current: passages that count now; others are left out.
        codes: the numbers of values so far; new values get the next.

    Returns:
        The number of passages.
    """
    rows = [row for row in answers.to_pylist() if row["passage_id"] in current and row["title_key"] in pages]
    values = [
        [_code(codes, name, pages[row["title_key"]][name]) for name in FILTERS]
        + [_code(codes, "model", row["model_digest"])]
        for row in rows
    ]
    dimensions = len(rows[0]["vector"]) // 4 * 3 if rows else 0
    numbers = (
        unpacked_vectors((row["vector"] for row in rows), dimensions) if rows else np.empty((0, 64), np.int8)
    )
    ids = np.frombuffer(b"".join(bytes.fromhex(row["passage_id"]) for row in rows), np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {
        _SIGNS: _signs(numbers),
        _CODES: np.array(values, np.uint16).reshape(-1, len(FILTERS) + 1),
        _IDS: ids.reshape(-1, _ID_BYTES),
    }
    for name, array in arrays.items():
        with replacing(folder / name) as aside, aside.open("wb") as file:
            np.save(file, array)
    with replacing(folder / _NUMBERS) as aside:
        aside.write_bytes(numbers.tobytes())
    return len(rows)


def _differing(signs: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The number of signs in which each column differs; some at a time, which a processor's cache holds."""
    far = np.zeros(signs.shape[1], np.uint16)
    for start in range(0, len(far), _AT_A_TIME):
        some = far[start : start + _AT_A_TIME]
        for row, one in zip(signs, wanted, strict=True):
            some += np.bitwise_count(row[start : start + _AT_A_TIME] ^ one)
    return far


def _code(codes: Codes, name: str, value: str) -> int:
    return codes.setdefault(f"{name}={value}", len(codes))


def _signs(numbers: np.ndarray) -> np.ndarray:
    """A bit a dimension, filled up to whole numbers of 64 bits."""
    bits = np.packbits(numbers > 0, axis=1)
    missing = -bits.shape[1] % 8
    filled = np.pad(bits, ((0, 0), (0, missing)))
    return np.ascontiguousarray(filled).view(np.uint64)
