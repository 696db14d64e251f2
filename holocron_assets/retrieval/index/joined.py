"""Arrays of up to 64 batches in one folder, so that a search of millions of passages opens few files.

A batch that is replaced has only its own group joined again. Numbers stay with their batches: a search reads
few of them.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.retrieval.index.vectors import NUMBERS, Scanned

_BATCHES = 64


@dataclass(frozen=True)
class Group:
    """Some batches of a space.

    Attributes:
        folder: of their joined arrays; a single batch's own.
        batches: the folder of each batch, and the number of its passages.
        dimensions: numbers of each vector.
    """

    folder: Path
    batches: Sequence[tuple[Path, int]]
    dimensions: int

    def join(self) -> None:
        """Write the joined arrays, unless they are there."""
        last = Scanned.files(self.folder)[-1]
        if not last.is_file():
            Scanned.joined([Scanned.read(folder) for folder, _ in self.batches]).write(self.folder)


def groups_of(batches: Mapping[str, tuple[Path, int]]) -> list[Group]:
    """The groups of some batches of one space, in the order of their names.

    Args:
        batches: the folder of each batch by name, and the number of its passages.
    """
    found: dict[tuple[str, int, int], list[tuple[Path, int]]] = defaultdict(list)
    for name, (folder, passages) in sorted(batches.items()):
        source, _, number = name.rpartition("-")
        dimensions = (folder / NUMBERS).stat().st_size // passages
        found[source, int(number) // _BATCHES, dimensions].append((folder, passages))
    return [Group(_folder(own), own, key[-1]) for key, own in found.items()]


def _folder(batches: Sequence[tuple[Path, int]]) -> Path:
    first = batches[0][0]
    if len(batches) == 1:
        return first
    names = content_hash("\n".join(folder.name for folder, _ in batches))
    return first.with_name(f"joined-{names[:12]}")
