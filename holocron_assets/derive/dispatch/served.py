"""Which models can be asked, and which are loaded: a short request to the server, which starts nothing."""

import asyncio
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from holocron_assets.derive.gpu.slots import GPU_POOL, Holder, NotedLock
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.server.errors import ModelServerError, UnknownModelError
from holocron_assets.derive.server.model_files.catalog import Catalog, shipped_catalog
from holocron_assets.derive.server.process.connection import running_server
from holocron_assets.lake.attempts import delay_after
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake

_LATEST = ":latest"

ANSWER_SECONDS = 3.0
"""Even a busy server lists its models in this time."""


@dataclass(frozen=True)
class ServedModels:
    """The models of a model server.

    Attributes:
        digests: of the models that can be asked, by the names that interrogations use.
        loaded: those of them that are loaded.
        lacking: models to fetch: the first model of each interrogation that has none to ask.
    """

    digests: Mapping[str, str]
    loaded: frozenset[str]
    lacking: frozenset[str]


def is_switched_off(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether no model is to be asked: HOLOCRON_LLM is `off`."""
    return environment.get("HOLOCRON_LLM") == "off"


def served_by_code(interrogations: Iterable[Interrogation]) -> ServedModels:
    """The kinds of code among interrogations, as if they were models; no server is asked.

    Their digests name what runs the code: a newer DuckDB or Python may give other answers.
    """
    runs_it = {
        "sql": f"duckdb {duckdb.__version__}",
        "python": f"python {sys.version_info.major}.{sys.version_info.minor}",
    }
    kinds = {interrogation.kind for interrogation in interrogations if interrogation.is_of_code}
    return ServedModels({kind: runs_it[kind] for kind in sorted(kinds)}, frozenset(), frozenset())


def served_models(
    interrogations: Iterable[Interrogation], environment: Mapping[str, str] = os.environ
) -> ServedModels:
    """Ask the server which of the models it has that interrogations name; code can always be asked.

    Where no server runs, and an embedded one would be started for the work, the models are the catalog's.

    Args:
        interrogations: those that name models.
        environment: says where the server is.

    Raises:
        ModelServerUnavailable: the server gives no answer.
    """
    interrogations = tuple(interrogations)
    by_code = served_by_code(interrogations)
    wanted = [interrogation.models for interrogation in interrogations if not interrogation.is_of_code]
    if not wanted:
        return by_code
    names = {name for models in wanted for name in models}
    address = running_server(environment)
    if address is None:
        listed, running = _of_catalog(names, shipped_catalog()), set[str]()
    else:
        listed, running = _of_server(address)
    found = {name: listed[name] for name in names if name in listed}
    lacking = frozenset(models[0] for models in wanted if not found.keys() & set(models))
    return ServedModels({**found, **by_code.digests}, frozenset(found.keys() & running), lacking)


def read_served_models(interrogations: Sequence[Interrogation]) -> tuple[ServedModels | None, str | None]:
    """Which models can be asked now, and why some cannot, for people.

    Returns:
        The server's models, None if it was not asked or gives no answer; and what is wrong, if anything.
    """
    if is_switched_off():
        return None, "no model is asked: HOLOCRON_LLM is off"
    # The client of a model server takes a fifth of a second to import.
    from holocron_assets.derive.engine.problems import ModelServerUnavailable  # noqa: PLC0415

    try:
        served = served_models(interrogations)
    except (ModelServerError, ModelServerUnavailable) as error:
        return None, str(error)
    lacking = ", ".join(sorted(served.lacking))
    return served, f"the model server has not got {lacking}" if lacking else None


def gpu_holder(lake: Lake) -> str | None:
    """The process that has calls of models under way on this machine, in words; None if none has."""
    return next((str(holder or "another process") for holder in holders_at(lake, [GPU_POOL])), None)


def holders_at(lake: Lake, places: Iterable[str]) -> list[Holder | None]:
    """The processes that have calls of models under way at some places; None for one that no note names.

    Args:
        lake: where locks and their notes are.
        places: names from `model_run.place_of`; only one process holds each at a time.
    """
    locks = [NotedLock(lake, f"gpu-{place}") for place in places]
    return [lock.holder() for lock in locks if lock.is_held()]


def _of_server(address: str) -> tuple[dict[str, str], set[str]]:
    # As above: the client is imported only if a server is asked.
    from holocron_assets.derive.engine.problems import (  # noqa: PLC0415
        ModelServerUnavailable,
        failure_of_call,
    )

    try:
        return asyncio.run(_listing(address))
    except Exception as error:  # the client passes on the errors of its transport
        reason = failure_of_call(error, model="the server", timeout_seconds=ANSWER_SECONDS).reason
        raise ModelServerUnavailable(reason, utc_now() + delay_after(1)) from error


async def _listing(address: str) -> tuple[dict[str, str], set[str]]:
    """Digests of the server's models, and the names of those loaded; with and without the tag 'latest'."""
    from holocron_assets.derive.engine.bounded_client import open_client  # noqa: PLC0415 - as above

    async with asyncio.timeout(ANSWER_SECONDS), open_client(address) as client:
        had = {one.model: one.digest or "" for one in (await client.list()).models if one.model}
        running = {one.model for one in (await client.ps()).models if one.model}
    short = {name.removesuffix(_LATEST): digest for name, digest in had.items()}
    return short | had, running | {name.removesuffix(_LATEST) for name in running}


def _of_catalog(names: Iterable[str], catalog: Catalog) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = catalog.find(name).sha256
        except UnknownModelError:
            continue
    return found
