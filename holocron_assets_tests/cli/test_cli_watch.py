"""`holocron status --watch` takes snapshots, in a terminal and in a pipe, until a signal ends it."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from sample_holocron import Holocron

pytestmark = pytest.mark.full

_WATCH = (str(Path(sys.executable).with_name("holocron")), "status", "--watch", "--every", "0.2")
_PATIENCE_SECONDS = 180


def environment(holocron: Holocron) -> Mapping[str, str]:
    return {**os.environ, **holocron.environment, "COLUMNS": "120", "TERM": "xterm", "HOLOCRON_LLM": "off"}


def started(holocron: Holocron, *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(  # noqa: S603 - our own command
        [*_WATCH, *options],
        env=environment(holocron),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lines(process: "subprocess.Popen[str]") -> Iterator[str]:
    assert process.stdout
    return iter(process.stdout)


def test_in_a_pipe_each_snapshot_is_a_block_and_ctrl_c_ends_it_well(finished_sample: Holocron) -> None:
    with started(finished_sample) as process:
        blocks = 0
        for line in lines(process):
            blocks += line.rstrip().endswith(" UTC")
            if blocks == 3:
                break
        process.send_signal(signal.SIGINT)
        rest, error = process.communicate(timeout=_PATIENCE_SECONDS)
    assert (process.returncode, error) == (0, "")
    assert "\x1b" not in rest


def test_as_json_each_snapshot_is_a_line_and_sigterm_ends_it_by_its_code(finished_sample: Holocron) -> None:
    with started(finished_sample, "--json") as process:
        printed = lines(process)
        first, second = json.loads(next(printed)), json.loads(next(printed))
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=_PATIENCE_SECONDS)
    assert (process.returncode, error) == (143, "")
    assert first["at"] < second["at"]
    assert first["stages"] == second["stages"]


def test_in_a_terminal_it_is_shown_in_place_and_the_cursor_comes_back(finished_sample: Holocron) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(_WATCH, env=environment(finished_sample), stdout=theirs, stderr=theirs)  # noqa: S603
    os.close(theirs)
    shown = read_until(ours, lambda text: text.count(" UTC") >= 3)
    process.send_signal(signal.SIGINT)
    shown += read_until(ours, lambda _: False)
    assert process.wait(_PATIENCE_SECONDS) == 0
    os.close(ours)
    assert "\x1b[1A" in shown, "the cursor goes up to write over what was there"
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
    assert "Traceback" not in shown


def read_until(terminal: int, is_enough: Callable[[str], bool]) -> str:
    """What a terminal shows until it is enough, or nothing more comes."""
    shown, until = "", time.monotonic() + _PATIENCE_SECONDS
    while not is_enough(shown) and time.monotonic() < until:
        if select.select([terminal], [], [], 1)[0]:
            try:
                shown += os.read(terminal, 65536).decode(errors="replace")
            except OSError:  # the other end is closed
                break
    return shown
