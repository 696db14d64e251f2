"""Which models can be asked, and which are loaded: a short request to the server, which starts nothing."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

import duckdb

from holocron_assets.derive.engine.problems import ModelServerUnavailable
from holocron_assets.derive.gpu.slots import GPU_POOL, Holder, NotedLock
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.server.errors import ModelServerError
from holocron_assets.derive.server.model_files.catalog import Catalog, shipped_catalog
from holocron_assets.derive.server.process.connection import running_server
from holocron_assets.lake.place.paths import Lake


@dataclass(frozen=True)
class ServedModels:
    """The models of a model server.

    Attributes:
        digests: of the models that can be asked, by the names that interrogations use.
        loaded: those of them that are loaded.
        lacking: models to fetch: the first model of each interrogation that has none to ask.
        is_asked: whether a server said so, or none was needed; if not, only code is known.
    """

    digests: Mapping[str, str]
    loaded: frozenset[str]
    lacking: frozenset[str]
    is_asked: bool = True


def is_switched_off() -> bool:
    """Whether no model is to be asked: HOLOCRON_LLM is `off`."""
    return os.environ.get("HOLOCRON_LLM") == "off"


def served_by_code(interrogations: Iterable[Interrogation]) -> ServedModels:
    """The kinds of code among interrogations, as if they were models; no server is asked.

    Their digests name what runs the code: a newer DuckDB, Python or tantivy may give other answers.
    """
    runs_it = {
        "sql": f"duckdb {duckdb.__version__}",
        "python": f"python {sys.version_info.major}.{sys.version_info.minor}",
        "search": f"tantivy {version('tantivy')}",
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
        # The client of a model server takes a fifth of a second to import.
        from holocron_assets.derive.dispatch.listed_models import models_at  # noqa: PLC0415

        listed, running = models_at(address)
    found = {name: listed[name] for name in names if name in listed}
    lacking = frozenset(models[0] for models in wanted if not found.keys() & set(models))
    return ServedModels({**found, **by_code.digests}, frozenset(found.keys() & running), lacking)


def read_served_models(interrogations: Sequence[Interrogation]) -> tuple[ServedModels, str | None]:
    """Which models can be asked now, and why some cannot, for people.

    Returns:
        The models, and what is wrong, if anything. Code can be asked even if the server was not, or gives no
        answer.
    """
    without_server = replace(served_by_code(interrogations), is_asked=False)
    if is_switched_off():
        return without_server, "no model is asked: HOLOCRON_LLM is off"
    try:
        served = served_models(interrogations)
    except (ModelServerError, ModelServerUnavailable) as error:
        return without_server, str(error)
    lacking = ", ".join(sorted(served.lacking))
    return served, f"the model server has not got {lacking}" if lacking else None


def gpu_holder(lake: Lake) -> str | None:
    """The process that has calls of models under way on this machine, in words; None if none has."""
    return next((str(holder or "another process") for holder in holders_at(lake, [GPU_POOL])), None)


def holders_at(lake: Lake, places: Iterable[str]) -> list[Holder | None]:
    """The processes that have calls of models under way at some places; None for one that no note names.

    Args:
        lake: where locks and their notes are.
        places: names from `slots.place_of`; only one process holds each at a time.
    """
    locks = [NotedLock(lake, f"gpu-{place}") for place in places]
    return [lock.holder() for lock in locks if lock.is_held()]


def _of_catalog(names: Iterable[str], catalog: Catalog) -> dict[str, str]:
    return {name: catalog.find(name).sha256 for name in names if catalog.has(name)}
