"""The settings of the model server, by Ollama's environment variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from holocron_assets.derive.server.durations import keep_alive_seconds


@dataclass(frozen=True)
class ServerSettings:
    """The server's settings.

    Attributes:
        slots: requests that a loaded model works on at the same time (OLLAMA_NUM_PARALLEL).
        loaded_models: models that are loaded at the same time (OLLAMA_MAX_LOADED_MODELS).
        queue: requests that may wait, more are refused with 503 (OLLAMA_MAX_QUEUE).
        keep_alive: seconds that a model stays when a request does not say (OLLAMA_KEEP_ALIVE).
        num_ctx: tokens of context when a request does not say (OLLAMA_CONTEXT_LENGTH).
        threads: processor threads of a loaded model.
        prompt_cache_mib: MiB of memory for read prompts that no slot holds any more; not used with a GPU.
    """

    slots: int = 1
    loaded_models: int = 1
    queue: int = 512
    keep_alive: float = 300.0
    num_ctx: int = 4096
    threads: int = 1
    prompt_cache_mib: int = 512


def server_settings(environment: Mapping[str, str] = os.environ) -> ServerSettings:
    """The settings of an environment.

    Raises:
        ValueError: a variable has a value without meaning; the message names the variable.
    """
    usual = ServerSettings()
    return ServerSettings(
        slots=_count(environment, "OLLAMA_NUM_PARALLEL", usual.slots),
        loaded_models=_count(environment, "OLLAMA_MAX_LOADED_MODELS", usual.loaded_models),
        queue=_count(environment, "OLLAMA_MAX_QUEUE", usual.queue),
        keep_alive=_seconds(environment, "OLLAMA_KEEP_ALIVE", usual.keep_alive),
        num_ctx=_count(environment, "OLLAMA_CONTEXT_LENGTH", usual.num_ctx),
        threads=_usable_processors(),
    )


def _count(environment: Mapping[str, str], name: str, usual: int) -> int:
    value = environment.get(name) or str(usual)
    if not value.isdecimal() or int(value) < 1:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least 1")
    return int(value)


def _seconds(environment: Mapping[str, str], name: str, usual: float) -> float:
    try:
        return keep_alive_seconds(environment[name]) if environment.get(name) else usual
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _usable_processors() -> int:
    """The number of processors that this process may use; a container may have fewer than the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
