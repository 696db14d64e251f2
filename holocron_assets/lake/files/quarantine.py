"""Quarantine: damaged files are moved out of the lake, with a note, so that their content is made again.

    data/quarantine/<when>-<random>/note.json       when, which file it was, and why
    data/quarantine/<when>-<random>/data.parquet    the file as it was found

Holocron never deletes anything here. A missing partition is ordinary work: tables derived from it are stale,
and pages that have no outcome are fetched.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holocron_assets.lake.declaration.keys import table_hash
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.damage import PACK_FOLDER, DamagedPartitionError, is_object
from holocron_assets.lake.files.durable import holding, make_folder, move, replacing
from holocron_assets.lake.files.footers import FOOTER_KEY, footer_json
from holocron_assets.lake.files.parquet import write_file
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.files.verifying import damage_of
from holocron_assets.lake.journals.packed import ENDING
from holocron_assets.lake.packs.packs import Packed, held_by, read_packed
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.shared.places import mirror_of
from holocron_assets.lake.tables import (
    ENTITIES,
    FILES,
    GPU_RUNS,
    GROUP_STEPS,
    HTTP_ATTEMPTS,
    LLM_ATTEMPTS,
    PAGES,
    REPEAT_ANSWERS,
    RUN_TAGS,
    TRACEBACKS,
    TRIALS,
)

_FOLDER, _NOTE = "quarantine", "note.json"
_NOT_MADE_AGAIN = (HTTP_ATTEMPTS, LLM_ATTEMPTS, GPU_RUNS, RUN_TAGS, TRACEBACKS)
_BECOMES: Mapping[str, str] = {
    **dict.fromkeys(
        (table.name for table in _NOT_MADE_AGAIN),
        "it only recorded what was done: nothing is made from it, and it is not made again",
    ),
    ENTITIES.name: "made again, under the same ids; only this file holds how its entities changed before",
    PAGES.name: "its pages are read again, as they are now",
    GROUP_STEPS.name: "it held how far a group had come: `holocron group run` begins it anew",
    REPEAT_ANSWERS.name: "it held an experiment that `holocron repeat` or `holocron try` can make again",
    TRIALS.name: "it held a report that `holocron try` can make again",
}
_MADE_AGAIN = "made again from its inputs"
_OBJECT_BECOMES = "its artifact is fetched again, if an enabled source lists it"
_JOURNAL_BECOMES = (
    "answers in `llm_runs` stay valid, others are asked for again; only this file holds the prompts and "
    "replies"
)


@dataclass(frozen=True)
class SetAside:
    """A damaged file that was moved out of the lake.

    Attributes:
        at: when it was moved.
        table: the table that it belonged to; 'files' for an object; empty if its note cannot be read.
        partitions: the partitions that only this file held.
        file: where it was, relative to the data folder; empty if its note cannot be read.
        why: what is wrong with it, or with its note.
        kept: where it is now; the folder if its note cannot be read.
    """

    at: datetime
    table: str
    partitions: Sequence[str]
    file: str
    why: str
    kept: Path

    @property
    def is_object(self) -> bool:
        """Whether it is not of a table, but fetched bytes."""
        return is_object(Path(self.file))

    def may_be_of(self, table: Table) -> bool:
        """Whether it belonged to a table, as far as is known, and is not of the bytes that it names."""
        return self.table in (table.name, "") and not self.is_object

    def __str__(self) -> str:
        """What happened, and what happens next, for people."""
        if not self.table:
            return f"a damaged file was set aside in {self.kept}, and {self.why}: look at it, then delete it"
        becomes = _BECOMES.get(self.table, _MADE_AGAIN)
        if self.file.endswith(ENDING):
            becomes = _JOURNAL_BECOMES
        elif self.is_object:
            becomes = _OBJECT_BECOMES
        return f"{self.file} is damaged ({self.why}) and was set aside as {self.kept}: {becomes}"


def set_aside(lake: Lake, error: DamagedPartitionError) -> SetAside | None:
    """Move a damaged file out of the lake.

    The partitions of a pack that can still be read become own files first.

    Args:
        lake: the lake.
        error: the error that reading the file gave.

    Returns:
        The moved file; None if the file is whole by now, or gone, because another process replaced or moved
        it.

    Raises:
        DamagedPartitionError: nothing could make its content again. It stays where it is.
    """
    file = error.file
    if is_object(file):
        return _object_set_aside(lake, file)
    table = next((table for table in lake.tables if lake.folder(table).resolve() == _folder(file)), None)
    if table is None:
        raise error
    if error.is_for_good:
        if damage_of(file) is None:
            return None  # it was not the file's fault
        raise error
    if mirror := mirror_of(file):
        mirror.bring_again(file)  # perhaps only this machine's mirror is damaged
    with suppress(FileNotFoundError):
        if file.parent.name != PACK_FOLDER:
            with holding(file.parent):
                return _moved(lake, table, file, [file.parent.name])
        # Compaction removes files that a pack replaced: it must not do so while the pack is moved away.
        with lake.lock("compaction"), holding(file.parent):
            return _moved(lake, table, file, None)
    return None


def _object_set_aside(lake: Lake, file: Path) -> SetAside | None:
    if mirror_of(file):
        file.unlink(missing_ok=True)  # only this machine's copy is damaged: the store has the bytes
        return None
    with suppress(FileNotFoundError), holding(file.parent):
        return _moved(lake, FILES, file, [])
    return None


def lost_objects(lake: Lake) -> list[str]:
    """SHA-256 of the objects that were set aside, and that no fetch has brought again."""
    store = FileStore(lake)
    names = {Path(aside.file).name for aside in all_set_aside(lake) if aside.is_object}
    return sorted(name for name in names if not store.has(name))


def all_set_aside(lake: Lake) -> list[SetAside]:
    """Every file in quarantine, the oldest first."""
    found = []
    folder = lake.root / _FOLDER
    if mirror := mirror_of(folder):
        mirror.bring_up_to_date(folder)
    for note in sorted(folder.glob(f"*/{_NOTE}")):
        with suppress(FileNotFoundError):  # a person deletes it at this moment
            aside = _noted(note)
            if aside.kept.exists():
                found.append(aside)
    return found


def _noted(note: Path) -> SetAside:
    """What a note says, or that it cannot be read."""
    try:
        stored: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
        kept = note.with_name(Path(stored["file"]).name)
        return SetAside(**{**stored, "at": datetime.fromisoformat(stored["at"]), "kept": kept})
    except (ValueError, LookupError, TypeError):
        at = datetime.fromtimestamp(note.stat().st_mtime, UTC)
        return SetAside(at, "", (), "", "its note cannot be read", note.parent)


def _folder(file: Path) -> Path:
    return file.parent.parent.resolve()


def _moved(lake: Lake, table: Table, file: Path, partitions: Sequence[str] | None) -> SetAside | None:
    """Move a file whose folder is held. Without `partitions` it is a pack, whose rows are saved before."""
    damage = damage_of(file)
    if damage is None:
        return None
    lost = _saved_out_of(lake, table, file) if partitions is None else partitions
    now = utc_now()
    kept = lake.root / _FOLDER / f"{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}" / file.name
    where = file.relative_to(file.parents[4])
    about = {"table": table.name, "partitions": list(lost), "file": str(where), "why": damage.why}
    make_folder(kept.parent)
    with replacing(kept.with_name(_NOTE)) as note:  # first, so that each file in quarantine has a note
        note.write_text(json.dumps({"at": now.isoformat(), **about}, indent=1), encoding="utf-8")
    move(file, kept)
    return SetAside(now, table.name, lost, str(where), damage.why, kept)


def _saved_out_of(lake: Lake, table: Table, pack: Path) -> list[str]:
    """Write the readable partitions of a pack as own files again; return the partitions that are lost."""
    try:
        held = held_by(pack)
    except DamagedPartitionError:
        return []
    return [name for name, packed in held.items() if not _is_saved(lake, table, name, packed)]


def _is_saved(lake: Lake, table: Table, name: str, packed: Packed) -> bool:
    file = lake.file(table, name)
    if file.exists():
        return True  # the own file is newer, or is the packed one: without the pack it counts again
    try:
        rows = read_packed(packed, None)
    except DamagedPartitionError:
        return False
    content = [name for name in table.content_columns if name in rows.column_names]
    if table_hash(rows.select(content)) != packed.footer.content_id:
        return False
    with replacing(file) as aside:
        metadata = {FOOTER_KEY: footer_json(packed.footer, file).encode()}
        write_file(table, rows.replace_schema_metadata(metadata), aside)
    return True
