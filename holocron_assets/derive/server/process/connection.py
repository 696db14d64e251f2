"""Which model server is used: one that is configured, one that runs for this data folder, or our own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit

from filelock import FileLock

from holocron_assets.derive.server.errors import ModelServerError
from holocron_assets.lake.place.paths import Lake
from holocron_assets.settings import data_folder

_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f]")
_PORT_FILE = "model-server.json"
_SECONDS_TO_START = 60
_SECONDS_BETWEEN_LOOKS = 0.05
_SECONDS_TO_END = 5
_LARGEST_LOG = 10_000_000


@contextmanager
def model_server(environment: Mapping[str, str] = os.environ) -> Iterator[str | None]:
    """The URL of the model server to use, for as long as it is used.

    HOLOCRON_LLM says which: `off` is none; `auto`, the default, is the Ollama that OLLAMA_HOST names, or
    else the embedded server; `embedded` is always that one. If another live process runs an embedded server
    for this data folder, that one is used; it ends with its process. Otherwise one is started, and ends
    with this block, or with this process, however it dies.

    Yields:
        What `ollama.Client(host=...)` takes; None where no model may be asked.

    Raises:
        ModelServerError: HOLOCRON_LLM is none of these, OLLAMA_HOST no address, or the server does not start.
    """
    wanted, configured = _wanted(environment)
    if wanted == "off":
        yield None
    elif configured:
        yield configured
    else:
        with embedded_server(Lake(data_folder(environment)), environment) as url:
            yield url


def running_server(environment: Mapping[str, str] = os.environ) -> str | None:
    """The URL of the model server that `model_server` would find; none is started.

    Returns:
        None where no model may be asked, and where `model_server` would start an embedded server.

    Raises:
        ModelServerError: HOLOCRON_LLM is none of its values, or OLLAMA_HOST no address.
    """
    wanted, configured = _wanted(environment)
    if wanted == "off" or configured:
        return configured
    return _live_server(Lake(data_folder(environment)).locks / _PORT_FILE)


def keep_log_small(environment: Mapping[str, str] = os.environ) -> None:
    """Empty the log of the embedded server of this data folder if it is larger than 10 MB.

    Raises:
        FolderGoneError, OSError: the data folder cannot be used.
    """
    log = _log(Lake(data_folder(environment)).locks / _PORT_FILE)
    with suppress(FileNotFoundError):
        if log.stat().st_size > _LARGEST_LOG:
            os.truncate(log, 0)


def fetch_command(environment: Mapping[str, str] = os.environ) -> str:
    """The command that fetches a missing model for the server of `model_server`; the model's name follows it.

    Raises:
        ModelServerError: HOLOCRON_LLM is none of its values, or OLLAMA_HOST no address.
    """
    _, configured = _wanted(environment)
    return "ollama pull" if configured else "holocron models fetch"


def is_embedded(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether `model_server` would use the embedded server.

    Raises:
        ModelServerError: HOLOCRON_LLM is none of its values, or OLLAMA_HOST no address.
    """
    wanted, configured = _wanted(environment)
    return wanted != "off" and configured is None


def _wanted(environment: Mapping[str, str]) -> tuple[str, str | None]:
    """What HOLOCRON_LLM says, and the configured Ollama if it is to be used."""
    wanted = environment.get("HOLOCRON_LLM") or "auto"
    if wanted not in {"off", "auto", "embedded"}:
        raise ModelServerError(f"HOLOCRON_LLM is {wanted!r}; it must be off, auto or embedded")
    configured = environment.get("OLLAMA_HOST") if wanted == "auto" else None
    if configured and "@" in configured:
        raise ModelServerError(
            "OLLAMA_HOST must not hold a user or password: Ollama's client would leave them out, and others "
            "could read them; a key belongs in OLLAMA_API_KEY"
        )
    if configured and not _is_address(configured):
        raise ModelServerError(
            f"OLLAMA_HOST is {configured!r}, which is no address; it must be one like 127.0.0.1:11434 or "
            "http://192.0.2.1:11434, or empty for the embedded server"
        )
    return wanted, configured or None


def _is_address(text: str) -> bool:
    """Whether Ollama's client can read an address."""
    url = text if "://" in text else f"http://{text}"
    try:
        split = urlsplit(url)
        return split.scheme in {"http", "https"} and split.port != 0 and not _UNPRINTABLE.search(url)
    except ValueError:  # no port, or half an IPv6 address
        return False


@contextmanager
def embedded_server(lake: Lake, environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """The URL of the embedded server of a data folder, joined or started as `model_server` says.

    Raises:
        ModelServerError: it does not start.
    """
    port_file = lake.locks / _PORT_FILE
    # If several processes find none, one starts it, and the others use it.
    with FileLock(lake.locks / "model-server.lock"):
        url = _live_server(port_file)
        process = None if url else _start(port_file, environment)
        url = url or _when_ready(port_file, process)
    try:
        yield url
    finally:
        if process:
            _stop(process)


def _live_server(port_file: Path) -> str | None:
    """The server that a port file names, if that same server still answers there."""
    with suppress(FileNotFoundError, ValueError, KeyError):
        known = json.loads(port_file.read_text(encoding="utf-8"))
        # The client takes a thirtieth of a second to import. Mostly no server runs.
        from holocron_assets.derive.server.process.loopback import version_at  # noqa: PLC0415

        answer = version_at(known["url"])
        if answer and answer.get("instance") == known["instance"]:
            return str(known["url"])
    return None


def _start(port_file: Path, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    port_file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "holocron_assets.derive.server.serving"]
    options = ["--parent", str(os.getpid()), "--port-file", str(port_file)]
    _log(port_file).write_bytes(b"")
    with _log(port_file).open("ab") as log:  # appended to, so that `keep_log_small` can empty it
        return subprocess.Popen(  # noqa: S603 - our own module
            [*command, *options],
            stdin=subprocess.PIPE,  # closes when this process dies; the server ends then
            stdout=log,
            stderr=log,
            env={**os.environ, **environment},
            # The server gets no Ctrl-C: requests under way end in order before it does.
            start_new_session=True,
        )


def _when_ready(port_file: Path, process: "subprocess.Popen[bytes] | None") -> str:
    until = monotonic() + _SECONDS_TO_START
    while process and process.poll() is None and monotonic() < until:
        if url := _live_server(port_file):
            return url
        sleep(_SECONDS_BETWEEN_LOOKS)
    if process:
        _stop(process)
    lines = _log(port_file).read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise ModelServerError(
        f"the embedded model server did not start: {lines[-1] if lines else 'no message'}. "
        "HOLOCRON_LLM=off works without a model; OLLAMA_HOST names an Ollama to use instead"
    )


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin:
        process.stdin.close()


def _log(port_file: Path) -> Path:
    return port_file.with_suffix(".log")
