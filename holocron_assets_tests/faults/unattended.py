"""`holocron ui` of a test's Holocron, and what must hold once it has done all without a hand."""

import socket
import subprocess
from contextlib import closing
from typing import Any

from held import processes_of
from small_and_open import expect_nothing_lost_or_doubled
from whole_holocron import UNFINISHED, WholeHolocron, until

from holocron_assets.lake.tables import ENTITIES


def start_ui(whole: WholeHolocron) -> "subprocess.Popen[bytes]":
    return serve_ui(whole)[0]


def serve_ui(whole: WholeHolocron) -> tuple["subprocess.Popen[bytes]", str]:
    """Start it; give its process and its address, at which it answers some seconds later."""
    port = free_port()
    return whole.start("ui", "--port", str(port)), f"http://127.0.0.1:{port}"


def free_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def until_done(whole: WholeHolocron) -> None:
    """Wait until what the sensors see is done, without a hand."""
    until(
        lambda: whole.lake.partitions(ENTITIES) and not whole.runs(*UNFINISHED),
        "all is done",
        seconds=400,
        every=1,
    )


def expect_order(whole: WholeHolocron, clean: dict[str, Any], *, kills: int) -> None:
    whole.end()
    until(lambda: not processes_of(whole.holocron.folder), "all is gone", seconds=60)
    whole.finish()
    expect_nothing_lost_or_doubled(whole, clean, kills=kills + 1)
