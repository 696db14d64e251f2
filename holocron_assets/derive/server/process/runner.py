"""Starting and ending the process of a loaded model."""

import asyncio
import json
import os
import secrets
import signal
import sys
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holocron_assets.derive.server.process.loopback import Llama

_SECONDS_TO_END = 5
_LAST_LINES = 12
"""Lines of llama.cpp's log that are kept, to say why it ended."""


class RunnerError(Exception):
    """A model that could not be loaded, or whose process ended."""


@dataclass(frozen=True)
class RunnerOrder:
    """What a process must load, and how.

    Attributes:
        num_ctx: tokens of context in each slot.
        slots: requests that are worked on at the same time.
        embedding: whether it makes embeddings instead of text. A process that does both is slower at text.
        prompt_cache_mib: MiB of memory for read prompts that no slot holds any more.
    """

    path: Path
    num_ctx: int
    slots: int
    threads: int
    embedding: bool
    prompt_cache_mib: int


class Runner:
    """The process of one loaded model.

    Attributes:
        llama: asks it.
        ended: done once the process is gone, for whatever reason.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        """Take over a process that was started; `start_runner` starts one."""
        self._process = process
        self._output: deque[str] = deque(maxlen=_LAST_LINES)
        self._log: deque[str] = deque(maxlen=_LAST_LINES)
        self._logging = asyncio.create_task(self._read_log())
        self.ended = asyncio.create_task(process.wait())
        self.llama: Llama

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def grammar_problem(self) -> str:
        """Why llama.cpp could make no grammar of a schema, as far as its log says."""
        problems = [line for line in self._log if "failed to compile JSON schema" in line]
        return (problems or ["llama.cpp can make no grammar of the schema"])[-1]

    async def last_words(self) -> str:
        """Why it ended, as far as its log says; call this after its end, or when it seems to have ended."""
        await asyncio.wait({self.ended, self._logging}, timeout=_SECONDS_TO_END)
        if self._process.returncode is None:
            return "it closed a connection, but its process still runs"
        if self._process.returncode == -signal.SIGKILL:
            return "it was killed, as happens when a machine is out of memory"
        # Its own last line is in the log. The output may be read after it, and must not push it out.
        lines = [*self._output, *self._log][-_LAST_LINES:]
        return " ".join(lines) or f"exit code {self._process.returncode}"

    async def when_ready(self, order: RunnerOrder, key: str) -> None:
        """Wait until it answers.

        Raises:
            RunnerError: it ended instead.
        """
        assert self._process.stdout  # noqa: S101 - it was started with a pipe
        while line := await self._process.stdout.readline():
            if line.startswith(b'{"address"'):
                self.llama = Llama(json.loads(line)["address"], key)
                return
            self._output.append(line.decode(errors="replace").strip())  # llama.cpp says some errors there
        # Said here: llama.cpp may crash when it fails, before the process can say what it was doing.
        raise RunnerError(f"llama.cpp could not load {order.path}: {await self.last_words()}")

    async def stop(self) -> None:
        """End it at once, and wait until its memory is free."""
        if self._process.returncode is None:
            self._process.kill()
        await asyncio.shield(asyncio.gather(self.ended, self._logging))
        if hasattr(self, "llama"):
            await self.llama.close()

    async def _read_log(self) -> None:
        assert self._process.stderr  # noqa: S101 - it was started with a pipe
        async for line in self._process.stderr:
            self._log.append(line.decode(errors="replace").strip())


async def start_runner(order: RunnerOrder) -> Runner:
    """Load a model in a process of its own.

    Raises:
        RunnerError: llama.cpp could not load it; the message quotes its log.
    """
    key = secrets.token_urlsafe(16)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "holocron_assets.derive.server.process.child"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # Without the first, llama.cpp's threads spin while they wait, and decoding nearly hangs on a busy
        # machine. Without the second, a debugger writes a hundred lines after a crash, and none says why.
        env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "GGML_NO_BACKTRACE": "1"},
    )
    runner = Runner(process)
    try:
        await _send(process, {**vars(order), "path": str(order.path), "key": key, "parent": os.getpid()})
        await runner.when_ready(order, key)
    except BaseException:  # the caller may have been cancelled
        await runner.stop()
        raise
    return runner


async def _send(process: asyncio.subprocess.Process, order: dict[str, Any]) -> None:
    assert process.stdin  # noqa: S101 - it was started with a pipe
    process.stdin.write(json.dumps(order).encode() + b"\n")
    await process.stdin.drain()
