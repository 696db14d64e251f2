"""Runs the model server, for this machine only."""

import argparse
import asyncio
import json
import os
import secrets
import select
import sys
import threading
from pathlib import Path

import uvicorn

from holocron_assets.derive.server.app import make_app
from holocron_assets.derive.server.endpoints import Endpoints
from holocron_assets.derive.server.model_files.catalog import shipped_catalog
from holocron_assets.derive.server.model_files.fetching import own_model_files
from holocron_assets.derive.server.settings import ServerSettings, server_settings
from holocron_assets.lake.files.durable import replacing
from holocron_assets.telemetry.setup import observe_process

HOST = "127.0.0.1"
"""The only address that it answers at: anyone who reaches it can use this machine's processor."""

_LOOKS_SECONDS = 0.5


def serve(port: int, settings: ServerSettings, port_file: Path | None = None) -> None:
    """Serve until a signal to stop.

    Args:
        port: the port; 0 takes any free one.
        settings: the server's settings.
        port_file: a file that names its address and this server, written once it answers.
    """
    asyncio.run(_serve(port, settings, port_file))


async def _serve(port: int, settings: ServerSettings, port_file: Path | None) -> None:
    endpoints = Endpoints(shipped_catalog(), own_model_files(), settings, instance=secrets.token_hex(8))
    config = uvicorn.Config(make_app(endpoints), HOST, port, log_level="warning", timeout_graceful_shutdown=1)
    listening = config.bind_socket()
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    url = f"http://{HOST}:{listening.getsockname()[1]}"
    if port_file:
        with replacing(port_file) as aside:
            aside.write_text(json.dumps({"url": url, "instance": endpoints.instance}), encoding="utf-8")
    else:
        sys.stdout.write(f"Serving models on {url}; Ctrl-C stops it.\n")
        sys.stdout.flush()
    await serving


def end_with(parent: int) -> None:
    """End this process when the one that started it is gone, for any reason.

    The standard input closes then, unless another of its children holds it too: so the parent's number is
    checked as well. Linux's own way, a signal, would already come when the thread that started us ends.
    The processes of loaded models end with this one.
    """

    def watch() -> None:
        while os.getppid() == parent:
            readable, _, _ = select.select([sys.stdin], [], [], _LOOKS_SECONDS)
            if readable and not sys.stdin.readline():
                break
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Serve as the child of another process; `python -m holocron_assets.derive.server.serving`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--port-file", type=Path, required=True)
    arguments = parser.parse_args()
    observe_process()
    end_with(arguments.parent)
    serve(0, server_settings(), arguments.port_file)


if __name__ == "__main__":
    main()
