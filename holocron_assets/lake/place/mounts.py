"""The disk of the data folder: if it is not mounted, its empty mount point looks like a new lake."""

import json
from pathlib import Path

from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.files.durable import make_folder, replacing


def refuse_unmounted(data: Path, state: Path) -> None:
    """Raise PermanentError if the data folder was on a disk of its own, and that is not mounted now.

    Args:
        data: the data folder, absolute.
        state: the folder of this user's state, on the user's own disk.
    """
    try:
        recorded = json.loads(_record(data, state).read_text(encoding="utf-8"))
        mount_point = Path(recorded["mount_point"])
    except (OSError, ValueError, KeyError, TypeError):
        return  # nothing is recorded, or it cannot be read
    if not (data / "lake").exists() and not mount_point.is_mount():
        raise PermanentError(
            f"{data} was on a disk mounted at {mount_point}, which is not mounted now. Mount it. To begin "
            f"with an empty lake instead, make an empty folder {data / 'lake'}"
        )


def remember_mount(data: Path, state: Path) -> None:
    """Record where the disk of the data folder is mounted, unless it is the machine's root disk."""
    record = _record(data, state)
    mount_point = next(folder for folder in (data, *data.parents) if folder.is_mount())
    recorded = json.dumps({"data": str(data), "mount_point": str(mount_point)})
    if mount_point == Path(mount_point.anchor):
        record.unlink(missing_ok=True)
    elif not record.exists() or record.read_text(encoding="utf-8") != recorded:
        make_folder(record.parent)
        with replacing(record) as aside:
            aside.write_text(recorded, encoding="utf-8")


def _record(data: Path, state: Path) -> Path:
    return state / "disks" / f"{content_hash(str(data))[:16]}.json"
