"""The environment variables that Holocron reads, and what each one means."""

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_cache_path, user_state_path

from holocron_assets.errors import HolocronError

PROJECT_FOLDER = Path(__file__).resolve().parents[1]
_MOST_DAYS = 36_500
_MOST_PROCESSES = 64
_SHORTEST_TOKEN = 24
_USUAL_PROCESSES = 4
_MOST_CRAWLERS = 64


VARIABLES: Mapping[str, str] = {
    "HOLOCRON_DATA": "The folder of the lake, locks and `holocron.duckdb` (`data/`)",
    "HOLOCRON_SOURCES": "The folder of source files (`data/sources/`)",
    "HOLOCRON_INTERROGATIONS": "The folder of interrogations (`data/interrogations/`)",
    "HOLOCRON_SPACES": "The folder of spaces, which embed passages (`data/spaces/`)",
    "HOLOCRON_INFOBOX_RULES": "The folder of people's own infobox rules (`data/infobox/`)",
    "HOLOCRON_MARKED_STATEMENTS": "The folder of statements that people marked (`data/marked_statements/`)",
    "HOLOCRON_TAGS": "The vocabulary of tags (`data/tags.yaml`)",
    "HOLOCRON_DISPATCH": "How work is given to models (`data/dispatch.yaml`)",
    "HOLOCRON_WEBHOOKS": "Which webhooks get which notifications (`data/webhooks.yaml`)",
    "HOLOCRON_ALERTS": "The rules that raise alerts (`data/alerts.yaml`)",
    "HOLOCRON_SCHEDULES": "What is done when (`data/schedules.yaml`)",
    "HOLOCRON_GROUPS": "The folder of groups of work, done in sequence (`data/groups/`)",
    "HOLOCRON_STATE": "What processes share about each wiki's host; interrogations as they were last read "
    "and checked, and what was computed of lakes and code (the user's state folder)",
    "HOLOCRON_MODELS": "The model files of the embedded server (the user's cache folder)",
    "HOLOCRON_MODEL_FILES": "Model files that are there already, or folders of them, `:` between, as in PATH",
    "DAGSTER_HOME": "Dagster's folder (`$HOLOCRON_DATA/dagster`)",
    "HOLOCRON_POSTGRES_URL": "The PostgreSQL that holds Dagster's storage; without it, SQLite does",
    "HOLOCRON_LAKE": "The store of a lake that machines share, such as `s3://bucket/prefix`; without it, "
    "the lake is in the data folder",
    "HOLOCRON_BROKER": "The Redis that hands runs to workers on all machines; without it, they start here",
    "HOLOCRON_CRAWLERS": "Steps that fetch pages at once, on all machines (3). `dagster.yaml` limits runs",
    "HOLOCRON_FREE_GB": "Gigabytes that must be free on the data folder's disk for new work to start (1)",
    "HOLOCRON_DISK_SECONDS": "The longest that a small write to that disk may take for new work to start (5)",
    "HOLOCRON_STORE_SECONDS": "The same for the store of a lake that machines share (10)",
    "HOLOCRON_PROCESSES": "Processes in which `holocron run` and `import` work (one a core, at most 4)",
    "HOLOCRON_LLM": "`off`: no model is asked; `embedded`: the embedded server is, always; "
    "`auto`: OLLAMA_HOST is asked if it is set, else the embedded server",
    "HOLOCRON_MODEL": "The model that `holocron answer` and all interrogations ask, whatever they name; "
    "spaces keep their own",
    "HOLOCRON_RUN_DAYS": "Days for which Dagster's runs that went well are kept (30)",
    "HOLOCRON_FAILED_RUN_DAYS": "Days for which Dagster's runs that failed are kept (90)",
    "HOLOCRON_BACKFILL_RUNS": "The most runs that one backfill may start (100)",
    "HOLOCRON_BACKFILL_QUEUED": "A backfill is refused if more runs than this wait already (100)",
    "HOLOCRON_WEB_TOKEN": "What requests to `holocron web` must carry; needed where other machines may ask",
    "HOLOCRON_LOG": "`text` or `json`: how log lines are written (`text`)",
    "HOLOCRON_LOG_LEVEL": "The lowest level that is logged: `debug`, `info`, `warning` or `error` "
    "(as text `warning`, as JSON `info`)",
    "OLLAMA_HOST": "The Ollama server that is asked",
    "OLLAMA_API_KEY": "The key that it wants, if it wants one",
    "OLLAMA_NUM_PARALLEL": "Of the embedded server: requests to a model at once",
    "OLLAMA_MAX_LOADED_MODELS": "Of the embedded server: models in memory at once",
    "OLLAMA_MAX_QUEUE": "Of the embedded server: requests that may wait",
    "OLLAMA_CONTEXT_LENGTH": "Of the embedded server: tokens of context where a request says nothing",
    "OLLAMA_KEEP_ALIVE": "Of the embedded server: how long a model stays in memory after a request",
}
"""Every variable of the environment that is read, and what it says. A test compares this with the code."""


class SettingError(HolocronError, ValueError):
    """A variable of the environment that says what cannot be; the message names it and what it may be."""


class RunRetention(NamedTuple):
    """How long Dagster's runs are kept after their end, with their events and logs.

    Attributes:
        succeeded: those that went well.
        failed: those that failed or were ended.
    """

    succeeded: timedelta
    failed: timedelta


class Bounds(NamedTuple):
    """What the disk and the store must keep for new work to start; 0 is no bound.

    Attributes:
        free_gb: gigabytes that must be free on the disk of the data folder.
        disk_seconds: the longest that a small write to that disk may take.
        store_seconds: the longest that one to the store of a shared lake may take.
    """

    free_gb: float
    disk_seconds: float
    store_seconds: float


def bounds(environment: Mapping[str, str] = os.environ) -> Bounds:
    """The bounds of disk and store: HOLOCRON_FREE_GB, HOLOCRON_DISK_SECONDS and HOLOCRON_STORE_SECONDS.

    Raises:
        SettingError: one is no number from 0 on.
    """
    usual = {"HOLOCRON_FREE_GB": 1.0, "HOLOCRON_DISK_SECONDS": 5.0, "HOLOCRON_STORE_SECONDS": 10.0}
    return Bounds(*(_number(name, default, environment) for name, default in usual.items()))


def _number(name: str, default: float, environment: Mapping[str, str]) -> float:
    text = environment.get(name) or str(default)
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise SettingError(f"{name} must be a number from 0 on, and 0 sets no bound; it is {text!r}")
    return number


def data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder of the lake, locks and `holocron.duckdb`: HOLOCRON_DATA, or the project's `data/`."""
    return Path(environment.get("HOLOCRON_DATA") or PROJECT_FOLDER / "data").resolve()


def shared_lake() -> str | None:
    """The store of a lake that several machines share, such as s3://bucket/prefix: HOLOCRON_LAKE, or none."""
    return os.environ.get("HOLOCRON_LAKE", "").rstrip("/") or None


def database_address() -> str | None:
    """The address of the PostgreSQL server: HOLOCRON_POSTGRES_URL, or none."""
    return os.environ.get("HOLOCRON_POSTGRES_URL") or None


def broker() -> str | None:
    """The broker through which runs go to workers on other machines: HOLOCRON_BROKER, or none."""
    return os.environ.get("HOLOCRON_BROKER") or None


def crawlers(environment: Mapping[str, str] = os.environ) -> int:
    """How many steps fetch pages at once, on all machines together: HOLOCRON_CRAWLERS, or 3.

    Raises:
        SettingError: it is no number from 1 to 64.
    """
    text = environment.get("HOLOCRON_CRAWLERS") or "3"
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_CRAWLERS:
        raise SettingError(f"HOLOCRON_CRAWLERS must be a number from 1 to {_MOST_CRAWLERS}, not {text!r}")
    return int(text)


def processes() -> int:
    """How many processes `holocron run` and `import` work in: HOLOCRON_PROCESSES, or one a core, at most 4.

    Raises:
        SettingError: it is no number from 1 to 64.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    text = os.environ.get("HOLOCRON_PROCESSES") or str(min(cores, _USUAL_PROCESSES))
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_PROCESSES:
        raise SettingError(f"HOLOCRON_PROCESSES must be a number from 1 to {_MOST_PROCESSES}, not {text!r}")
    return int(text)


def web_token() -> str:
    """What requests to `holocron web` must carry: HOLOCRON_WEB_TOKEN.

    Raises:
        SettingError: it is not set, or short enough to be guessed.
    """
    token = os.environ.get("HOLOCRON_WEB_TOKEN", "")
    if len(token) < _SHORTEST_TOKEN or not token.isprintable() or not token.isascii() or " " in token:
        raise SettingError(
            f"HOLOCRON_WEB_TOKEN must have {_SHORTEST_TOKEN} or more characters of ASCII, without spaces, "
            "where other machines can ask: `openssl rand -hex 32` makes one. Or listen on 127.0.0.1, and use "
            "a tunnel: `ssh -L 8001:127.0.0.1:8001`"
        )
    return token


_WRITTEN_BY_PEOPLE: Mapping[str, str] = {
    "sources": "HOLOCRON_SOURCES",
    "interrogations": "HOLOCRON_INTERROGATIONS",
    "spaces": "HOLOCRON_SPACES",
    "infobox": "HOLOCRON_INFOBOX_RULES",
    "marked_statements": "HOLOCRON_MARKED_STATEMENTS",
    "tags.yaml": "HOLOCRON_TAGS",
    "dispatch.yaml": "HOLOCRON_DISPATCH",
    "webhooks.yaml": "HOLOCRON_WEBHOOKS",
    "alerts.yaml": "HOLOCRON_ALERTS",
    "schedules.yaml": "HOLOCRON_SCHEDULES",
    "groups": "HOLOCRON_GROUPS",
}
"""The variable that moves each file and folder that people write, by its name in the project's `data/`."""


def written_by_people(environment: Mapping[str, str] = os.environ) -> Mapping[str, Path]:
    """Every file and folder of settings that people write, by its name in the project's `data/`."""
    return {name: _written(name, environment) for name in _WRITTEN_BY_PEOPLE}


def _written(name: str, environment: Mapping[str, str] = os.environ) -> Path:
    written = environment.get(_WRITTEN_BY_PEOPLE[name]) or PROJECT_FOLDER / "data" / name
    # Unlike `Path.resolve`, this raises nothing for links in a circle: reading the file does, and names it.
    return Path(os.path.realpath(written))


def refuse_wrong() -> None:
    """Read each variable that says a number, so that a wrong one is found before work begins.

    Raises:
        SettingError: one has a wrong value.
    """
    bounds()
    crawlers()
    processes()
    run_retention()


def sources_folder() -> Path:
    """The folder of source files."""
    return _written("sources")


def interrogations_folder() -> Path:
    """The folder of interrogations."""
    return _written("interrogations")


def spaces_folder() -> Path:
    """The folder of spaces."""
    return _written("spaces")


def infobox_rules_folder() -> Path:
    """The folder of people's own infobox rules."""
    return _written("infobox")


def marked_statements_folder() -> Path:
    """The folder of statements that people marked."""
    return _written("marked_statements")


def tags_file() -> Path:
    """The vocabulary of tags."""
    return _written("tags.yaml")


def dispatch_file() -> Path:
    """The file that says how work is given to models."""
    return _written("dispatch.yaml")


def webhooks_file() -> Path:
    """The file that lists the webhooks."""
    return _written("webhooks.yaml")


def alerts_file() -> Path:
    """The file of the rules that raise alerts."""
    return _written("alerts.yaml")


def schedules_file() -> Path:
    """The file that says what is done when."""
    return _written("schedules.yaml")


def groups_folder() -> Path:
    """The folder of groups of work."""
    return _written("groups")


def state_folder() -> Path:
    """What all processes of this user know, outside the data folder: HOLOCRON_STATE, or the user's own."""
    return Path(os.environ.get("HOLOCRON_STATE") or user_state_path("holocron")).resolve()


def politeness_folder() -> Path:
    """What all processes of this user share about hosts, in their state folder.

    It is outside the data folder, so that two Holocrons on one machine are polite together.
    """
    return state_folder() / "politeness"


def dagster_home() -> Path:
    """Dagster's own folder: DAGSTER_HOME, or `dagster/` in the data folder, whose batches it knows."""
    return Path(os.environ.get("DAGSTER_HOME") or data_folder() / "dagster").resolve()


def models_folder() -> Path:
    """The folder of model files: HOLOCRON_MODELS, or `models/` in the user's cache folder.

    It is outside the data folder, so that all Holocrons on one machine share a download of a gigabyte.
    """
    return Path(os.environ.get("HOLOCRON_MODELS") or user_cache_path("holocron") / "models").resolve()


def given_model_files() -> tuple[Path, ...]:
    """Model files that a person has already, or folders of them: HOLOCRON_MODEL_FILES, as PATH is written."""
    named = os.environ.get("HOLOCRON_MODEL_FILES", "").split(os.pathsep)
    return tuple(Path(name).resolve() for name in named if name)


def run_retention(environment: Mapping[str, str] = os.environ) -> RunRetention:
    """How long runs are kept: HOLOCRON_RUN_DAYS and HOLOCRON_FAILED_RUN_DAYS, 30 and 90 days unless set.

    Raises:
        SettingError: one of them is no number of days.
    """
    return RunRetention(
        _days(environment, "HOLOCRON_RUN_DAYS", 30), _days(environment, "HOLOCRON_FAILED_RUN_DAYS", 90)
    )


def _days(environment: Mapping[str, str], name: str, usual: int) -> timedelta:
    text = environment.get(name) or str(usual)
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_DAYS:
        raise SettingError(f"{name} must be a number of days from 1 to {_MOST_DAYS:,}, not {text!r}")
    return timedelta(days=int(text))
