"""Dagster's own storage: small notes, opening the instance again, and signs of life of its daemon.

Waits for: public calls of `DagsterInstance` that keep a value under a key, say whether the instance is kept
on a disk, and say when the daemon was last alive.
"""

from collections.abc import Callable

import dagster as dg


def is_kept(instance: dg.DagsterInstance) -> bool:
    """Whether what the instance knows outlasts this process. Dagster has no public call that says so."""
    return not instance.is_ephemeral


def read_note(instance: dg.DagsterInstance, key: str) -> str | None:
    """The note under a key; see `write_note`. Dagster has no public call that keeps a value."""
    return instance.daemon_cursor_storage.get_cursor_values({key}).get(key)


def write_note(instance: dg.DagsterInstance, key: str, value: str) -> None:
    """Note a value under a key. Dagster has no public call that keeps a value."""
    instance.daemon_cursor_storage.set_cursor_values({key: value})


def reopening(instance: dg.DagsterInstance) -> Callable[[], dg.DagsterInstance] | None:
    """A function that opens the instance again after this one is closed; None if it is only in memory.

    Dagster has no public call that gives it.
    """
    if not instance.is_persistent:
        return None
    reference = instance.get_ref()
    return lambda: dg.DagsterInstance.from_ref(reference)


def daemon_last_heard(instance: dg.DagsterInstance, daemon: str) -> float | None:
    """When a part of the daemon last showed that it lives, as a timestamp; None if it never did.

    Dagster has no public call that says so.

    Args:
        instance: knows it.
        daemon: the part's name, such as `QUEUED_RUN_COORDINATOR`.
    """
    last = instance.get_daemon_statuses([daemon])[daemon].last_heartbeat
    return last.timestamp if last else None
