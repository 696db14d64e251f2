"""Names of files and folders that are written beside what they will replace."""

import re
import uuid
from pathlib import Path

_END = ".tmp"


def aside_of(target: Path) -> Path:
    """A new name beside a file or folder, for its content until that is whole."""
    return target.with_name(f".{target.name}.{uuid.uuid4().hex}{_END}")


def asides_of(target: Path, end: str = _END) -> list[Path]:
    """What is beside a file or folder under names from `aside_of`, and not what is another one's.

    Those of `kb.v2` begin like those of `kb`.

    Args:
        target: the file or folder.
        end: how the names end.
    """
    named = re.compile(re.escape(f".{target.name}.") + "[0-9a-f]{32}" + re.escape(end))
    return [path for path in target.parent.iterdir() if named.fullmatch(path.name)]
