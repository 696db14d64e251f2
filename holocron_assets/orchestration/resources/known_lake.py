"""The lake that Dagster's runs are about: if it is gone, no process may begin a new one in its place."""

import dagster as dg

from holocron_assets.lake.place.known import lake_gone, name_of_lake
from holocron_assets.lake.place.marking import mark
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.place.presence import marker_of
from holocron_assets.lake.shared.places import mirror_of
from holocron_assets.orchestration.internals.storage import is_kept, read_note, write_note

_KEY = "holocron/lake "  # and its folder: one Dagster may know several


def expect_lake(instance: dg.DagsterInstance, lake: Lake) -> None:
    """Mark a new lake, and check that a lake which Dagster has worked on exists.

    Raises:
        FolderGoneError: Dagster knows a lake here, and there is none.
    """
    if not is_kept(instance):
        return
    folder = lake.root / "lake"
    mirror = mirror_of(lake.root)
    if mirror:
        mirror.recognise()  # a new machine has its marker then
    key = f"{_KEY}{name_of_lake(lake.root)}"
    known = read_note(instance, key)
    if known and not folder.exists():
        raise lake_gone(folder)
    mark(folder)
    if (name := marker_of(folder)) and name != known:
        write_note(instance, key, name)
