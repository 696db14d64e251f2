"""The vector of what is searched, by the model of a space on the model server that runs."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING

from holocron_assets.derive.dispatch.backlog import model_to_ask
from holocron_assets.derive.engine.problems import failure_of_call
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.server.errors import ModelServerError, UnknownModelError
from holocron_assets.derive.server.model_files.catalog import shipped_catalog
from holocron_assets.derive.server.model_files.fetching import own_model_files
from holocron_assets.derive.server.process.connection import model_server, running_server
from holocron_assets.lake.tables.retrieval import SPACE_PREFIX

if TYPE_CHECKING:
    from holocron_assets.derive.engine.official_client import ollama

_SECONDS = 10.0
_KNOWN_SECONDS = 60.0
_KEEP_ALIVE = "15m"


class NoVectorError(Exception):
    """Nothing can be searched by meaning now; the message says why."""


@dataclass(frozen=True)
class QueryVector:
    """What is searched, as a vector.

    Attributes:
        space: the space that it is of.
        digest: of the model that made it.
        numbers: the vector.
    """

    space: str
    digest: str
    numbers: Sequence[float]


@contextmanager
def server_for_queries(environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Have a model server while something is searched: one that runs, or else our own if it has the model.

    Where none can be had, names and words are searched, and `query_vector` says why.
    """
    with ExitStack() as stack:
        with suppress(ModelServerError):
            if running_server(environment) is None and any(map(_is_here, spaces())):
                stack.enter_context(model_server(environment))
        yield


@contextmanager
def server_in_background(environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """The same for a process that serves searches: it does not wait for the server, and keeps it."""
    ended = Event()

    def keep() -> None:
        with server_for_queries(environment):
            ended.wait()

    keeping = Thread(target=keep, name="model server for queries")
    keeping.start()
    try:
        yield
    finally:
        ended.set()
        keeping.join()


def spaces() -> tuple[Interrogation, ...]:
    """The spaces, the one of the highest priority first."""
    found = [one for one in load_interrogations() if one.is_space]
    return tuple(sorted(found, key=lambda one: (-one.priority, one.name)))


def query_vector(
    text: str, embedded: Mapping[str, int], environment: Mapping[str, str] = os.environ
) -> QueryVector:
    """Embed what is searched in the space that holds the most vectors; of equal ones, in the first.

    A new space is used as soon as it holds as many vectors as the old one.

    Args:
        text: what is searched.
        embedded: the number of vectors of each space.
        environment: says where the model server is.

    Raises:
        NoVectorError: no space has a vector, or no server answers for its model.
    """
    known = [one for one in spaces() if embedded.get(one.name.removeprefix(SPACE_PREFIX))]
    if not known:
        raise NoVectorError("no passage is embedded yet")
    space = max(known, key=lambda one: embedded[one.name.removeprefix(SPACE_PREFIX)])
    try:
        server = running_server(environment)
    except ModelServerError as error:
        raise NoVectorError(str(error)) from error
    if server is None:
        raise NoVectorError("no model server runs")
    return _asked(text, space, server)


def _is_here(space: Interrogation) -> bool:
    """Whether the file of a space's model is on this machine."""
    try:
        return own_model_files().find(shipped_catalog().find(space.models[0])) is not None
    except UnknownModelError:
        return False


def _asked(text: str, space: Interrogation, server: str) -> QueryVector:
    prefix = space.embedding.query_prefix if space.embedding else ""
    client = _client(server)
    try:
        chosen = model_to_ask(space, _digests(server, int(monotonic() / _KNOWN_SECONDS)))
        if chosen is None:
            reason = f"the model server has not got {space.models[0]}"
        else:
            given = client.embed(
                chosen[0],
                input=f"{prefix}{text}",
                options={"num_ctx": space.options.num_ctx},
                keep_alive=_KEEP_ALIVE,
            )
            return QueryVector(space.name.removeprefix(SPACE_PREFIX), chosen[1], given.embeddings[0])
    except Exception as error:  # noqa: BLE001 - the client passes on whatever its transport raises
        reason = failure_of_call(error, model=space.models[0], timeout_seconds=_SECONDS).reason
    raise NoVectorError(reason)


@lru_cache(maxsize=4)
def _client(server: str) -> "ollama.Client":
    # The client of a model server takes a fifth of a second to import.
    from holocron_assets.derive.engine.official_client import ollama  # noqa: PLC0415

    return ollama.Client(server, timeout=_SECONDS)


@lru_cache(maxsize=4)
def _digests(server: str, _minute: int) -> dict[str, str]:
    """Digests of the models that a server has, as `digests_by_name` gives them; asked once a minute."""
    from holocron_assets.derive.engine.listening import digests_by_name  # noqa: PLC0415 - as in `_client`

    return digests_by_name(_client(server).list().models)
