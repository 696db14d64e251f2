"""Copies files of a running Holocron; files that an earlier backup holds already are linked to it."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from holocron_assets.lake.files.durable import holding, trouble_named
from holocron_assets.lake.files.listing import JOURNAL_FILE
from holocron_assets.lake.journals.packed import packed_part
from holocron_assets.lake.packs.packs import FileMark
from holocron_assets.operations.backups.places import BackupError

_CHUNK_BYTES = 1 << 20
_MOST_ROUNDS = 20


@dataclass
class Copier:
    """Copies files from one folder into another, under the same names and with the same times.

    Attributes:
        start: the folder that names are relative to.
        target: the folder for copies.
        earlier: an earlier backup of `start`; a file of it with the same time and size is linked.
        files: how many the copy holds.
        bytes: how many bytes they have.
        linked: how many files are linked to the earlier backup.
    """

    start: Path
    target: Path
    earlier: Path | None = None
    files: int = 0
    bytes: int = 0
    linked: int = 0

    def copy(self, file: Path) -> None:
        """Copy a file that changes only by being replaced as a whole, or by growing: then as far as it is.

        Raises:
            FileNotFoundError: it is gone.
            OSError: it cannot be read, or its copy cannot be written; names which.
        """
        target = self._target(file)
        with file.open("rb") as opened:  # if the file is replaced meanwhile, the open one stays the same
            mark = FileMark.of(os.fstat(opened.fileno()))
            if target.exists() and FileMark.of(target.stat()) == mark:
                return  # copied in an earlier round
            if not self._link(file, target, mark):
                target.unlink(missing_ok=True)
                _copy_bytes(opened, file, target, mark.size)
        self.count(target, mark)

    def copy_journal(self, journal: Path) -> None:
        """Copy a journal with its packed part, both as of one moment. Lines may be appended meanwhile."""
        with ExitStack() as held:
            # A journal that is gone by now is in its partition's file, which is copied later.
            held.enter_context(suppress(FileNotFoundError))
            # A process that packs a journal writes the packed part first, and waits for the folder to do so.
            held.enter_context(holding(journal.parent))
            for part in (packed_part(journal), journal):
                with suppress(FileNotFoundError):
                    self.copy(part)

    def take_earlier(self, file: Path, mark: FileMark) -> bool:
        """Link the earlier backup's copy of a file, if it has the same time and size and can be linked."""
        target = self._target(file)
        if not self._link(file, target, mark):
            return False
        self.count(target, mark)
        return True

    def count(self, target: Path, mark: FileMark) -> None:
        """Give a copy the time of its file, and count it."""
        os.utime(target, ns=(mark.mtime_ns, mark.mtime_ns))
        self.files, self.bytes = self.files + 1, self.bytes + mark.size

    def _target(self, file: Path) -> Path:
        target = self.target / file.relative_to(self.start)
        with trouble_named(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def _link(self, file: Path, target: Path, mark: FileMark) -> bool:
        if self.earlier is None:
            return False
        copy = self.earlier / file.relative_to(self.start)
        if not copy.is_file() or FileMark.of(copy.stat()) != mark:
            return False
        aside = target.with_name(f"{target.name}.tmp")
        try:
            os.link(copy, aside)
        except OSError:  # exFAT and many shared disks have no hard links, and others limit their number
            return False
        aside.replace(target)
        self.linked += 1
        return True


def copy_folder(copier: Copier, folder: Path, *, journals: bool = False) -> None:
    """Copy a folder without unfinished files, until nothing was missed.

    A file that vanishes meanwhile was replaced, for example by the pack that holds it. Then the whole
    folder is read again. No file is copied twice.

    Args:
        copier: copies its files.
        folder: the folder.
        journals: whether journals are copied like other files. Those of the lake are not: `copy_journal`
            copies them.
    """
    for _ in range(_MOST_ROUNDS):
        try:
            for file in sorted(_files_in(folder)):
                if not file.name.endswith(".tmp") and (journals or not file.name.startswith(JOURNAL_FILE)):
                    copier.copy(file)
        except FileNotFoundError:
            continue
        return
    raise BackupError(f"{folder} changes too fast to be copied; try again")


def _files_in(folder: Path, above: frozenset[tuple[int, int]] = frozenset()) -> Iterator[Path]:
    """All files in a folder, also those in linked folders, unless a link leads to a folder that holds it."""
    status = folder.stat()
    if (here := (status.st_dev, status.st_ino)) in above:
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files_in(Path(entry), above | {here})
            elif entry.is_file():
                yield Path(entry)


def _copy_bytes(opened: IO[bytes], file: Path, target: Path, left: int) -> None:
    """Copy the given number of bytes into a new file. The original may be longer by now."""
    with trouble_named(target), target.open("xb") as written:
        while left:
            with trouble_named(file):  # otherwise the message would blame the disk of the copy
                chunk = opened.read(min(left, _CHUNK_BYTES))
            if not chunk:
                return
            written.write(chunk)
            left -= len(chunk)
