"""Following a page's commands in one shell, as a reader does who types them one after the other."""

import os
import re
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from documented import Command, Expected

SERVERS: Mapping[str, str] = {
    "make ui": "http://127.0.0.1:3000/",
    "holocron ui": "http://127.0.0.1:3000/",
    "holocron web": "http://127.0.0.1:8001/",
    "holocron models serve": "http://127.0.0.1:11434/api/version",
    "prometheus": "http://127.0.0.1:9090/-/ready",
}
"""Commands that go on until they are asked to stop, and where they answer: a reader gives them a terminal."""

_ENDED = "the command ended with"
_SECONDS_TO_ANSWER = 600
_SECONDS_TO_END = 1800  # a reader would not wait longer


def served_at(command: Command) -> str | None:
    """Where a command answers that goes on until it is asked to stop; None for any other."""
    words = command.simple()[0]
    said = " ".join([words[0].removeprefix(".venv/bin/"), *words[1:]])
    return next((url for name, url in SERVERS.items() if f"{said} ".startswith(f"{name} ")), None)


class Walk:
    """One shell; what is set or entered in it stays, as for a person who types."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        """Begin in a folder."""
        self._folder, self._environment = folder, environment
        self._shell = subprocess.Popen(
            ["/bin/bash", "--norc", "--noprofile"],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._servers: dict[str, subprocess.Popen[bytes]] = {}

    def follow(self, command: Command, may_end_with: int = 0) -> str:
        """Give a command and wait for its end; one that serves, until it answers. Gives what it printed."""
        if url := served_at(command):
            return self._serve(command, url)
        typed, printed = _of(self._shell.stdin), _of(self._shell.stdout)
        typed.write(f'{command.text}\necho; echo "{_ENDED} $?"\n')
        typed.flush()
        lines: list[str] = []
        too_long = threading.Timer(_SECONDS_TO_END, self._kill_shell)
        too_long.start()
        try:
            for line in printed:
                if line.startswith(_ENDED):
                    assert int(line.split()[-1]) in (0, may_end_with), (
                        f"{command.page}:{command.line}: {command.text}\n{''.join(lines)}"
                    )
                    return "".join(lines)
                lines.append(line)
        finally:
            too_long.cancel()
        raise AssertionError(
            f"{command.page}:{command.line}: {command.text}\nended the shell, or did not end within "
            f"{_SECONDS_TO_END} s\n{''.join(lines)}"
        )

    def _serve(self, command: Command, url: str) -> str:
        """Start a server in a terminal of its own, with what was exported by now; the last one there ends."""
        self._end_server(url)
        exported = self.follow(command._replace(text="env -0 | tr '\\n\\0' ' \\n'"))
        log = self._folder / "server.log"
        with log.open("wb") as said:
            server = subprocess.Popen(  # noqa: S603 - of our page
                ["/bin/bash", "-c", f"exec env {command.text}"],  # variables may stand before it
                cwd=self._folder,
                env=dict(line.split("=", 1) for line in exported.splitlines() if "=" in line),
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        self._servers[url] = server
        deadline = time.monotonic() + _SECONDS_TO_ANSWER
        while not _answers(url):
            said_so_far = log.read_text(encoding="utf-8", errors="replace")
            assert server.poll() is None, f"{command.page}:{command.line}: {command.text}\n{said_so_far}"
            assert time.monotonic() < deadline, f"{command.text} does not answer on {url}\n{said_so_far}"
            time.sleep(1)
        return log.read_text(encoding="utf-8", errors="replace")

    def end(self) -> None:
        """End the servers by Ctrl+C, and the shell."""
        for url in list(self._servers):
            self._end_server(url)
        _of(self._shell.stdin).close()
        self._shell.wait(60)

    def _end_server(self, url: str) -> None:
        if server := self._servers.pop(url, None):
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGINT)
            # By itself, by the signal, or as make reports its child's end.
            assert server.wait(120) in (0, -signal.SIGINT, 130, 2), "Ctrl+C does not end it in order"

    def _kill_shell(self) -> None:
        """Kill the shell and what it waits for; what it printed ends by that."""
        with suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGKILL)


@contextmanager
def walk(folder: Path, environment: Mapping[str, str]) -> Iterator[Walk]:
    """A walk that is ended at the end."""
    begun = Walk(folder, environment)
    try:
        yield begun
    finally:
        begun.end()


def missing_in(printed: str, expected: Expected) -> list[str]:
    """The lines that a page says were printed, and that were not, or not in this order.

    White space does not count, nor do the lines that tables are drawn with.
    """
    found = [_plain(line) for line in printed.splitlines()]
    at, missing = 0, []
    for line in filter(None, map(_plain, expected.lines)):
        if line == "...":
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in line.split("...")))
        hit = next((number for number in range(at, len(found)) if pattern.fullmatch(found[number])), None)
        if hit is None:
            missing.append(line)
        else:
            at = hit + 1
    return missing


def _plain(line: str) -> str:
    return " ".join(line.replace("─", " ").split())


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310 - loopback
            return bool(answer.status == 200)
    except urllib.error.HTTPError as error:
        return error.code == 401  # it wants a token
    except OSError:
        return False


def _of(stream: "IO[str] | None") -> "IO[str]":
    assert stream is not None
    return stream
