"""The file that names what is indexed. To read it takes none of the libraries that a search needs."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.place.paths import Lake


@dataclass
class Pointer:
    """What is indexed: a JSON file.

    Attributes:
        version: of the code that made it; another one makes everything anew.
        text: name of the folder of the full-text index.
        mark: of the tables, when nothing was stale.
        codes: numbers of the values of filters; see `vectors`.
        batches: of each batch its `fingerprint`, its number of `passages`, and its `spaces`: of each the
            `folder`, the number of `vectors` and their `dimensions`.
    """

    version: str
    text: str
    mark: str = ""
    codes: dict[str, int] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)


def pointer_file(lake: Lake) -> Path:
    """The file, next to the folders that it names."""
    return lake.root / "search" / "index.json"


def read_pointer(lake: Lake) -> Pointer | None:
    """What is indexed; None if nothing is, or nothing that can be read."""
    try:
        return Pointer(**json.loads(pointer_file(lake).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def indexed(lake: Lake) -> str | None:
    """A hash of all that can be found, the same for the same lake; None if nothing is indexed yet."""
    pointer = read_pointer(lake)
    if pointer is None:
        return None
    found = sorted((batch, entry["fingerprint"]) for batch, entry in pointer.batches.items())
    return content_hash(json.dumps(found))
