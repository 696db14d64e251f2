"""Arrays of up to 64 batches in one folder, so that a search of millions of passages opens few files.

A batch that is replaced has only its own group joined again. Numbers stay with their batches: a search reads
few of them.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.retrieval.index.vectors import NUMBERS, Scanned

_BATCHES = 64


class Batch(NamedTuple):
    """The vectors of one batch.

    Attributes:
        folder: of its arrays.
        passages: how many.
        dimensions: numbers of each vector.
    """

    folder: Path
    passages: int
    dimensions: int

    def check(self) -> None:
        """See that its numbers are all there; no other array tells.

        Raises:
            ValueError: they are not.
            FileNotFoundError: the file is gone.
        """
        size = (self.folder / NUMBERS).stat().st_size
        if size != self.passages * self.dimensions:
            raise ValueError(f"{self.folder / NUMBERS} has {size} bytes")


@dataclass(frozen=True)
class Group:
    """Some batches of a space, of one number of dimensions.

    Attributes:
        folder: of their joined arrays; a single batch's own.
        batches: each of them.
    """

    folder: Path
    batches: Sequence[Batch]

    @property
    def dimensions(self) -> int:
        """Numbers of each vector."""
        return self.batches[0].dimensions

    def join(self) -> None:
        """Write the joined arrays, unless they are there."""
        last = Scanned.files(self.folder)[-1]
        if not last.is_file():
            Scanned.joined([Scanned.read(folder) for folder, *_ in self.batches]).write(self.folder)


def groups_of(batches: Mapping[str, Batch]) -> list[Group]:
    """The groups of some batches of one space, in the order of their names.

    Args:
        batches: each by its name.
    """
    found: dict[tuple[str, int, int], list[Batch]] = defaultdict(list)
    for name, batch in sorted(batches.items()):
        source, _, number = name.rpartition("-")
        found[source, int(number) // _BATCHES, batch.dimensions].append(batch)
    return [Group(_folder(own), own) for own in found.values()]


def _folder(batches: Sequence[Batch]) -> Path:
    first = batches[0].folder
    if len(batches) == 1:
        return first
    names = content_hash("\n".join(batch.folder.name for batch in batches))
    return first.with_name(f"joined-{names[:12]}")
