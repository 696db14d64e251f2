"""Which models are loaded, when several are wanted; each is the smallest one under another name."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import xllamacpp  # type: ignore[import-untyped] # it ships no types

from holocron_assets.derive.server.model_files.catalog import Model, shipped_catalog
from holocron_assets.derive.server.model_files.files import ModelFiles
from holocron_assets.derive.server.process.child import serve
from holocron_assets.derive.server.process.loaded import BusyError, Lease, LoadedModels, NoModelFileError
from holocron_assets.derive.server.process.loopback import LlamaGoneError
from holocron_assets.derive.server.process.runner import RunnerError, RunnerOrder, start_runner
from holocron_assets.derive.server.settings import ServerSettings, server_settings

SMALLEST = shipped_catalog().find("smollm2:135m")
ONE, TWO, THREE = (SMALLEST.model_copy(update={"name": f"{name}:1b"}) for name in ("one", "two", "three"))


class Borrowing:
    """Loaded models, and the order in which they were had."""

    def __init__(self, models: LoadedModels) -> None:
        self.models = models
        self.log: list[str] = []

    @property
    def names(self) -> set[str]:
        return {loaded.model.name for loaded in self.models.now()}

    @asynccontextmanager
    async def borrow(
        self, model: Model, keep_alive: float | None = None, num_ctx: int = 256
    ) -> AsyncIterator[Lease]:
        async with self.models.borrow(model, num_ctx=num_ctx, keep_alive=keep_alive) as lease:
            self.log.append(f"{model.name}{' loaded' if lease.load_seconds else ''}")
            yield lease

    async def use(self, model: Model, until: asyncio.Event | None = None) -> None:
        async with self.borrow(model):
            if until:
                await until.wait()


def with_models(
    file: Path, folder: Path, settings: ServerSettings, work: Callable[[Borrowing], Awaitable[None]]
) -> None:
    async def run() -> None:
        models = LoadedModels(ModelFiles(folder, (file,)), settings)
        try:
            await work(Borrowing(models))
        finally:
            await models.close()

    asyncio.run(run())


async def soon(is_so: Callable[[], bool]) -> None:
    for _ in range(500):
        if is_so():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not happen within ten seconds")


@pytest.mark.system
def test_the_least_recently_used_model_leaves(model_file: Path, tmp_path: Path) -> None:
    async def work(borrowing: Borrowing) -> None:
        for model in (ONE, TWO, ONE, THREE):
            await borrowing.use(model)
        assert borrowing.names == {"one:1b", "three:1b"}
        assert borrowing.log == ["one:1b loaded", "two:1b loaded", "one:1b", "three:1b loaded"]

    with_models(model_file, tmp_path, ServerSettings(loaded_models=2), work)


@pytest.mark.system
def test_a_model_in_use_stays_until_its_requests_end_and_nobody_overtakes(
    model_file: Path, tmp_path: Path
) -> None:
    async def work(borrowing: Borrowing) -> None:
        done = asyncio.Event()
        under_way = [asyncio.create_task(borrowing.use(ONE, done)) for _ in range(2)]
        await soon(lambda: len(borrowing.log) == 2)
        switching = asyncio.create_task(borrowing.use(TWO))
        await asyncio.sleep(0.05)
        later = asyncio.create_task(borrowing.use(ONE))
        await asyncio.sleep(0.5)
        assert borrowing.names == {"one:1b"}
        done.set()
        await asyncio.gather(*under_way, switching, later)
        assert borrowing.log == ["one:1b loaded", "one:1b", "two:1b loaded", "one:1b loaded"]

    with_models(model_file, tmp_path, ServerSettings(), work)


def test_a_model_that_is_to_be_unloaded_leaves_after_its_requests(model_file: Path, tmp_path: Path) -> None:
    async def work(borrowing: Borrowing) -> None:
        async with borrowing.borrow(ONE, keep_alive=60):
            await borrowing.models.unload(ONE)
            assert borrowing.names == {"one:1b"}
        assert borrowing.names == set()

    with_models(model_file, tmp_path, ServerSettings(), work)


@pytest.mark.fault(9, "more requests than may wait")
def test_more_requests_than_may_wait_are_refused(model_file: Path, tmp_path: Path) -> None:
    async def work(borrowing: Borrowing) -> None:
        done = asyncio.Event()
        waiting = [asyncio.create_task(borrowing.use(ONE, done)) for _ in range(2)]
        await soon(lambda: len(borrowing.log) == 2)
        with pytest.raises(BusyError, match="server busy"):
            await borrowing.use(ONE)
        done.set()
        await asyncio.gather(*waiting)
        await borrowing.use(ONE)

    with_models(model_file, tmp_path, ServerSettings(queue=1), work)


@pytest.mark.fault(9, "SIGKILL of a model's process in a request")
def test_a_model_whose_process_was_killed_is_loaded_again(model_file: Path, tmp_path: Path) -> None:
    async def ask_what_was_killed(borrowing: Borrowing) -> None:
        async with borrowing.borrow(ONE) as lease:
            os.kill(lease.loaded.runner.pid, signal.SIGKILL)
            await lease.loaded.llama.tokens_of("hi")

    async def work(borrowing: Borrowing) -> None:
        with pytest.raises(LlamaGoneError, match="terminated: it was killed"):
            await ask_what_was_killed(borrowing)
        await soon(lambda: not borrowing.names)
        async with borrowing.borrow(ONE) as lease:
            assert await lease.loaded.llama.tokens_of("hi")
        assert borrowing.log == ["one:1b loaded"] * 2

    with_models(model_file, tmp_path, ServerSettings(), work)


@pytest.mark.fault(9, "a client that goes while its model is loaded")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_client_that_leaves_while_a_model_is_loaded_leaves_no_process(
    model_file: Path, tmp_path: Path, children_of: Callable[[int], list[int]]
) -> None:
    async def work(borrowing: Borrowing) -> None:
        before = set(children_of(os.getpid()))
        waiting = asyncio.create_task(borrowing.use(ONE))
        await soon(lambda: set(children_of(os.getpid())) > before)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert set(children_of(os.getpid())) == before
        assert borrowing.names == set()
        await borrowing.use(ONE)

    with_models(model_file, tmp_path, ServerSettings(), work)


def test_a_file_that_is_no_model_says_so(tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF and nothing else")
    order = RunnerOrder(
        path=tmp_path / "broken.gguf", num_ctx=256, slots=1, threads=1, embedding=False, prompt_cache_mib=0
    )
    with pytest.raises(RunnerError, match="could not load"):
        asyncio.run(start_runner(order))


def test_a_library_that_llama_cpp_lacks_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacks = "libgomp.so.1: cannot open shared object file: No such file or directory"
    (tmp_path / "xllamacpp.py").write_text(f"raise ImportError({lacks!r})", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    order = RunnerOrder(
        path=tmp_path / "any.gguf", num_ctx=256, slots=1, threads=1, embedding=False, prompt_cache_mib=0
    )
    with pytest.raises(RunnerError, match=re.escape(lacks)) as refused:
        asyncio.run(start_runner(order))
    assert str(refused.value).endswith("on Debian and Ubuntu, the package libgomp1")
    assert "Traceback" not in str(refused.value)


LOAD = """
import asyncio, resource, sys
from pathlib import Path
from holocron_assets.derive.server.process.runner import RunnerError, RunnerOrder, start_runner
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]) * 1024**2,) * 2)
order = RunnerOrder(
    path=Path(sys.argv[1]), num_ctx=8192, slots=1, threads=1, embedding=False, prompt_cache_mib=0
)

async def load():
    try:
        await (await start_runner(order)).stop()
    except RunnerError as error:
        print(error)

asyncio.run(load())
"""
"""Loads a model in so many MiB of addresses; prints why, if that was not possible."""


@pytest.mark.full
@pytest.mark.fault(9, "no memory for the embedded server's model")
def test_a_model_that_memory_lacks_for_says_so_at_whatever_moment(model_file: Path) -> None:
    said = []
    for mebibytes in (250, 300, 350, 400):
        done = subprocess.run(  # noqa: S603 - the script above
            [sys.executable, "-c", LOAD, str(model_file), str(mebibytes)],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        said.append(done.stdout)
    assert all(said[:2]), "it was loaded into less than it has"
    assert any("llocate" in text for text in said), said


def test_a_model_without_a_file_is_missing(tmp_path: Path) -> None:
    async def work(borrowing: Borrowing) -> None:
        with pytest.raises(NoModelFileError, match="holocron models fetch one:1b"):
            await borrowing.use(ONE)

    with_models(tmp_path / "nothing", tmp_path, ServerSettings(), work)


def test_the_settings_are_ollamas() -> None:
    settings = server_settings(
        {"OLLAMA_NUM_PARALLEL": "4", "OLLAMA_KEEP_ALIVE": "1h", "OLLAMA_CONTEXT_LENGTH": "8192"}
    )
    assert (settings.slots, settings.keep_alive, settings.num_ctx) == (4, 3600, 8192)
    assert settings.threads >= 1
    with pytest.raises(ValueError, match="OLLAMA_NUM_PARALLEL is 'many'"):
        server_settings({"OLLAMA_NUM_PARALLEL": "many"})
    with pytest.raises(ValueError, match=r"OLLAMA_KEEP_ALIVE: .* 'soon'"):
        server_settings({"OLLAMA_KEEP_ALIVE": "soon"})


@pytest.mark.parametrize(("devices", "mib"), [(["CPU"], 512), (["CPU", "GPU"], 0)])
def test_read_prompts_are_kept_in_memory_where_no_gpu_reads_them(
    devices: list[str], mib: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = xllamacpp.ggml_backend_dev_type
    found = [{"type": getattr(kinds, f"GGML_BACKEND_DEVICE_TYPE_{device}")} for device in devices]
    monkeypatch.setattr(xllamacpp, "get_device_info", lambda: found)
    monkeypatch.setattr(xllamacpp, "Server", lambda parameters: parameters)
    order = RunnerOrder(Path("model.gguf"), 2048, 16, 1, embedding=False, prompt_cache_mib=512)
    parameters = serve({**vars(order), "path": str(order.path), "key": "key"})
    assert (parameters.cache_ram_mib, parameters.n_ctx) == (mib, 16 * 2048)
