"""The loaded models: requests borrow them; each is loaded when needed, and unloaded when not."""

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic

from holocron_assets.derive.server.model_files.catalog import Model
from holocron_assets.derive.server.model_files.files import ModelFiles
from holocron_assets.derive.server.process.loopback import Llama, LlamaGoneError
from holocron_assets.derive.server.process.runner import Runner, RunnerOrder, start_runner
from holocron_assets.derive.server.settings import ServerSettings

_FOR_EVER = timedelta(days=365 * 100)
"""When a model that stays for ever expires, for Ollama's clients: a time that they can still read."""


_LEAST_CONTEXT = 4
"""Fewest tokens of context. With one, llama.cpp's process ends; Ollama raises fewer to these, too."""


class NoModelFileError(Exception):
    """A model whose file is not on this machine."""


class BusyError(Exception):
    """Too many requests wait."""


def missing(model: Model) -> NoModelFileError:
    """The error for a model that we know and do not have."""
    return NoModelFileError(
        f"model '{model.name}' not found, try pulling it first: `holocron models fetch {model.name}`"
    )


def _context(model: Model, num_ctx: int) -> int:
    """Tokens of context that a model is loaded with."""
    return max(_LEAST_CONTEXT, min(num_ctx, model.context_length))


@dataclass(eq=False)
class Loaded:
    """A loaded model.

    Attributes:
        users: requests that it works on.
        used_at: when the last one ended, by the monotonic clock.
        keep_alive: seconds that it stays after that.
        leaving: whether it is to be unloaded as soon as no request uses it.
    """

    model: Model
    num_ctx: int
    embedding: bool
    runner: Runner
    keep_alive: float
    users: int = 0
    used_at: float = field(default_factory=monotonic)
    expiry: asyncio.TimerHandle | None = None
    leaving: bool = False

    @property
    def llama(self) -> Llama:
        """The client of its process."""
        return self.runner.llama

    @property
    def expires_at(self) -> datetime:
        """When it is unloaded, if no request uses it until then."""
        left = self.keep_alive if self.users else self.used_at + self.keep_alive - monotonic()
        return datetime.now(UTC) + (_FOR_EVER if math.isinf(left) else timedelta(seconds=max(left, 0)))


@dataclass(frozen=True)
class Lease:
    """A model for the length of one request.

    Attributes:
        load_seconds: what loading it took; 0 where it was loaded already.
    """

    loaded: Loaded
    load_seconds: float


class LoadedModels:
    """The loaded models of one server, at most as many as set. A model in use is never unloaded.

    Requests are served in the order in which they came. One that needs another model waits until those before
    it have ended, and those after it wait for it, so that no model can keep another one out.
    """

    def __init__(self, files: ModelFiles, settings: ServerSettings) -> None:
        """Load nothing yet."""
        self._files = files
        self._settings = settings
        self._loaded: list[Loaded] = []
        self._turn = asyncio.Lock()
        self._returned = asyncio.Event()
        self._stopping: set[asyncio.Task[None]] = set()
        self._requests = 0

    def now(self) -> list[Loaded]:
        """Those loaded now."""
        return list(self._loaded)

    @asynccontextmanager
    async def borrow(
        self, model: Model, *, num_ctx: int | None, keep_alive: float | None, embedding: bool = False
    ) -> AsyncIterator[Lease]:
        """Borrow a model, which is loaded first if needed.

        Args:
            model: which one.
            num_ctx: tokens of context; None for what it is loaded with, or the usual.
            keep_alive: seconds that it stays afterwards; None for the usual.
            embedding: it is asked for embeddings, which takes a load of its own.

        Raises:
            NoModelFileError: its file is not here.
            BusyError: too many requests wait.
            RunnerError: it cannot be loaded.
        """
        with self._counted():
            async with self._turn:
                lease = await self._get(model, num_ctx=num_ctx, embedding=embedding)
                lease.loaded.users += 1
                lease.loaded.leaving = False
            try:
                yield lease
            except LlamaGoneError as error:
                raise LlamaGoneError(await lease.loaded.runner.last_words()) from error
            finally:
                keep = self._settings.keep_alive if keep_alive is None else keep_alive
                self._give_back(lease.loaded, keep)

    async def unload(self, model: Model) -> None:
        """Unload a model now, or when the requests that use it have ended."""
        for loaded in [loaded for loaded in self._loaded if loaded.model == model]:
            loaded.leaving = True
            if not loaded.users:
                await self._stop(loaded)

    async def close(self) -> None:
        """Unload all, even those in use."""
        for loaded in self.now():
            self._stop(loaded)
        await asyncio.gather(*self._stopping)

    async def _get(self, model: Model, *, num_ctx: int | None, embedding: bool) -> Lease:
        if fitting := self._fitting(model, num_ctx=num_ctx, embedding=embedding):
            return Lease(fitting, 0.0)
        path = await asyncio.to_thread(self._files.find, model)
        if path is None:
            raise missing(model)
        await self._make_room(model)
        settings = self._settings
        order = RunnerOrder(
            path=path,
            num_ctx=_context(model, num_ctx or settings.num_ctx),
            slots=1 if embedding else settings.slots,
            threads=settings.threads,
            embedding=embedding,
            prompt_cache_mib=settings.prompt_cache_mib,
        )
        started = monotonic()
        runner = await start_runner(order)
        loaded = Loaded(model, order.num_ctx, embedding, runner, settings.keep_alive)
        self._loaded.append(loaded)
        runner.ended.add_done_callback(lambda _: self._forget(loaded))
        return Lease(loaded, monotonic() - started)

    def _fitting(self, model: Model, *, num_ctx: int | None, embedding: bool) -> Loaded | None:
        for loaded in self._loaded:
            wanted = _context(model, num_ctx or loaded.num_ctx)
            if loaded.model == model and loaded.embedding == embedding and loaded.num_ctx == wanted:
                return loaded
        return None

    async def _make_room(self, model: Model) -> None:
        while leaving := self._one_of_these_must_leave(model):
            idle = [loaded for loaded in leaving if not loaded.users]
            if idle:
                await self._stop(min(idle, key=lambda loaded: loaded.used_at))
            else:
                self._returned.clear()
                await self._returned.wait()
        await asyncio.gather(*self._stopping)

    def _one_of_these_must_leave(self, model: Model) -> list[Loaded]:
        """Models of which one must go: the same one with other settings; or all, if there is no room.

        A model that only embeds is small, and takes no other's place: a search must unload no model at work.
        """
        same = [loaded for loaded in self._loaded if loaded.model == model]
        large = [loaded for loaded in self._loaded if not loaded.model.only_embeds]
        is_full = not model.only_embeds and len(large) >= self._settings.loaded_models
        return same or (large if is_full else [])

    def _give_back(self, loaded: Loaded, keep_alive: float) -> None:
        loaded.users -= 1
        loaded.used_at = monotonic()
        loaded.keep_alive = 0.0 if loaded.leaving else keep_alive
        self._returned.set()
        if loaded.expiry:
            loaded.expiry.cancel()
        if loaded.users or math.isinf(loaded.keep_alive):
            return
        if loaded.keep_alive == 0:
            self._stop(loaded)
        else:
            loop = asyncio.get_running_loop()
            loaded.expiry = loop.call_later(loaded.keep_alive, self._expire, loaded)

    def _expire(self, loaded: Loaded) -> None:
        if not loaded.users:
            self._stop(loaded)

    def _stop(self, loaded: Loaded) -> asyncio.Task[None]:
        """Stop a model; the next is loaded only when its memory is free."""
        self._forget(loaded)
        task = asyncio.create_task(loaded.runner.stop())
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
        return task

    def _forget(self, loaded: Loaded) -> None:
        if loaded in self._loaded:
            self._loaded.remove(loaded)
        if loaded.expiry:
            loaded.expiry.cancel()
        self._returned.set()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        settings = self._settings
        if self._requests >= settings.slots * settings.loaded_models + settings.queue:
            raise BusyError("server busy, please try again. maximum pending requests exceeded")
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1
