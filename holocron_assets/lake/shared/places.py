"""Which data folder mirrors a lake that several machines share: HOLOCRON_LAKE makes it the only one."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from holocron_assets.lake.shared.mirror import Mirror
from holocron_assets.lake.shared.objects import Objects
from holocron_assets.lake.shared.sessions import Connection, Session
from holocron_assets.settings import data_folder, database_address, shared_lake

_MIRRORS: dict[Path, Mirror] = {}


def mirror_of(path: Path) -> Mirror | None:
    """The mirror of a data folder or of a path in its lake; None on a single machine.

    Raises:
        PermanentError: HOLOCRON_LAKE is set, and a setting that it needs is not.
    """
    for root, mirror in _all_mirrors().items():
        if path == root or mirror.holds(path):
            return mirror
    return None


@contextmanager
def mirrored(mirror: Mirror) -> Iterator[Mirror]:
    """Let a data folder be a mirror in this process until the block ends."""
    before = _MIRRORS.get(mirror.root)
    _MIRRORS[mirror.root] = mirror
    try:
        yield mirror
    finally:
        if before:
            _MIRRORS[mirror.root] = before
        else:
            del _MIRRORS[mirror.root]


def configured_mirror() -> Mirror | None:
    """The mirror that the settings name; None if they name none.

    Raises:
        PermanentError: HOLOCRON_LAKE is set, and a setting that it needs is not.
    """
    url = shared_lake()
    if url is None:
        return None
    return Mirror(data_folder(), Objects(url), Session(database_address(), url))


def shared_server() -> Connection | None:
    """A new session with the server of the machines that share a lake; None on a single machine.

    Raises:
        PermanentError: HOLOCRON_LAKE is set, and a setting that it needs is not.
    """
    return Connection(database_address()) if shared_lake() else None


def _all_mirrors() -> Mapping[Path, Mirror]:
    _add_configured()
    return _MIRRORS


@cache
def _add_configured() -> None:
    if mirror := configured_mirror():
        _MIRRORS[mirror.root] = mirror
