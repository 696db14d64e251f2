"""Dagster's instance: its home, the file that configures it, and the pool limits that no file can hold.

Waits for: limits of named pools in `dagster.yaml`.
"""

import atexit
import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import dagster as dg
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from holocron_assets.derive.dispatch.pools import CODE_POOL, read_dispatch_settings
from holocron_assets.errors import PermanentError
from holocron_assets.lake.files.parquet import replacing
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.known import remember_lake
from holocron_assets.lake.place.mounts import refuse_unmounted, remember_mount
from holocron_assets.lake.place.paths import Lake
from holocron_assets.orchestration.assets.crawl import CRAWL_POOL
from holocron_assets.orchestration.internals.clocks import bring_ticks_back
from holocron_assets.orchestration.internals.runs import is_limited, limit_pool
from holocron_assets.orchestration.resources.known_lake import expect_lake
from holocron_assets.orchestration.runs.reaper import reap_dead_runs
from holocron_assets.settings import (
    PROJECT_FOLDER,
    broker,
    crawlers,
    dagster_home,
    data_folder,
    database_address,
    dispatch_file,
    processes,
    refuse_wrong,
    shared_lake,
    state_folder,
)


def pool_limits() -> Mapping[str, int]:
    """The most ops of each pool that run at once, whatever started them. Pools are for crawls and for models.

    Raises:
        SettingsError: the file of the models' pools cannot be used.
        SettingError: HOLOCRON_CRAWLERS or HOLOCRON_PROCESSES cannot.
    """
    settings = read_dispatch_settings(dispatch_file())
    limits = {**settings.limits, CRAWL_POOL: crawlers()}
    if settings.policy == "resource":
        # The dispatcher gives code one run at a time; the processes of `holocron run` share its partitions.
        limits[CODE_POOL] = max(limits[CODE_POOL], processes())
    return limits


def prepare_home() -> Path:
    """Make Dagster's home, with the configuration that the environment asks for.

    PostgreSQL is used when HOLOCRON_POSTGRES_URL is set, and workers on other machines when HOLOCRON_BROKER
    is set too. A home that was chosen by DAGSTER_HOME keeps its own `dagster.yaml`.

    Returns:
        The home, which is now also this process's DAGSTER_HOME.

    Raises:
        PermanentError: HOLOCRON_POSTGRES_URL is no address, or is needed and missing.
    """
    home = dagster_home()
    home.mkdir(parents=True, exist_ok=True)
    chosen_by_person = "DAGSTER_HOME" in os.environ
    if not (chosen_by_person and (home / "dagster.yaml").is_file()):
        wanted = (_configuration() / "dagster.yaml").read_bytes()
        file = home / "dagster.yaml"
        if not file.is_file() or file.read_bytes() != wanted:
            with replacing(file) as aside:
                aside.write_bytes(wanted)
    os.environ["DAGSTER_HOME"] = str(home)
    if url := database_address():
        os.environ["HOLOCRON_POSTGRES_URL"] = _with_driver(url)
    return home


def _configuration() -> Path:
    """The folder of the `dagster.yaml` that the environment asks for.

    Raises:
        PermanentError: there are workers, and no lake that they share.
    """
    if broker():
        if not (database_address() and shared_lake()):
            raise PermanentError("HOLOCRON_BROKER needs HOLOCRON_LAKE and HOLOCRON_POSTGRES_URL too")
        return PROJECT_FOLDER / "deploy" / "celery"
    return PROJECT_FOLDER / "deploy" / "postgres" if database_address() else PROJECT_FOLDER


def _with_driver(url: str) -> str:
    """The address of Dagster's database, with the driver that dagster-postgres brings.

    Raises:
        PermanentError: it is none. The message does not repeat it: it may hold a password.
    """
    address = re.sub(r"^postgres(ql)?://", "postgresql+psycopg2://", url)
    try:
        usable = make_url(address).host is not None
    except (ValueError, ArgumentError):
        usable = False
    if not usable:
        raise PermanentError(
            "HOLOCRON_POSTGRES_URL is no address of a database; it must be one like "
            "postgresql://user:password@localhost:5432/holocron"
        )
    return address


def reap_without_daemon() -> None:
    """Report runs as failed that a daemon was about to start. The caller knows that no daemon lives.

    There are such runs after a restore as well: a backup may hold runs that were about to begin. Runs
    that wait for a worker in a broker are left alone.
    """
    with open_instance(begins_daemon=True) as instance:
        if not broker():
            reap_dead_runs(instance, Lake(data_folder()), time_to_start=timedelta(0))


def open_to_read() -> dg.DagsterInstance:
    """The instance at the prepared home, only to read: no run is reaped, and no limit is written."""
    # Two processes that make Dagster's database at once would break it for good.
    with Lake(data_folder()).lock("dagster-home"):
        prepare_home()
        return dg.DagsterInstance.get()


def closed_at_exit(instance: dg.DagsterInstance) -> dg.DagsterInstance:
    """An instance that stays open until the process ends."""
    atexit.register(instance.dispose)
    return instance


def open_instance(*, begins_daemon: bool = False) -> dg.DagsterInstance:
    """The instance at the prepared home, with the named pools limited and dead runs reaped.

    The limit of crawls holds for all machines. Without HOLOCRON_CRAWLERS, only a daemon that begins sets it
    to the default: other commands leave what was set.

    Args:
        begins_daemon: whether a daemon is about to begin.

    Raises:
        PermanentError: the disk of the data folder is not mounted.
        SettingError: a variable that is needed later has a wrong value; no work was begun.
        FolderGoneError: Dagster knows of work on a lake that is gone.
    """
    refuse_wrong()
    limits = pool_limits()
    refuse_unmounted(data_folder(), state_folder())
    remember_mount(data_folder(), state_folder())
    lake = Lake(data_folder())
    # Two processes that make Dagster's database at once would break it for good.
    with lake.lock("dagster-home"):
        home = prepare_home()
        instance = dg.DagsterInstance.get()
        is_said = begins_daemon or "HOLOCRON_CRAWLERS" in os.environ
        for pool, limit in limits.items():
            if pool != CRAWL_POOL or is_said or not is_limited(instance, pool):
                limit_pool(instance, pool, limit)
        bring_ticks_back(instance, now=utc_now())
        expect_lake(instance, lake)
        remember_lake(lake.root, home)
    reap_dead_runs(instance, lake)
    return instance
