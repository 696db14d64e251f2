"""A process of its own for one loaded model: llama.cpp's server, which ends with the process that started it.

Run as `python -m holocron_assets.derive.server.process.child`. The first line of its input says what to load;
the line that it prints says at which address it answers. It ends when its input is closed.
"""

import ctypes
import json
import os
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1
"""Linux: the signal that a process gets when the thread that started it ends."""

_INSTALL = "Install OpenMP's library: on Debian and Ubuntu, the package libgomp1"


def main() -> None:
    """Load a model, serve it, and end with the process that asked for it."""
    order = json.loads(sys.stdin.readline())
    _die_with(order["parent"])
    try:
        # Kept in a name: the server stops when nothing refers to it any more.
        server = serve(order)
    except ImportError as error:
        sys.exit(f"{error}. {_INSTALL}" if "libgomp" in str(error) else str(error))
    except RuntimeError as error:
        sys.exit(str(error))
    sys.stdout.write(json.dumps({"address": server.listening_address}) + "\n")
    sys.stdout.flush()
    sys.stdin.read()  # until the other end closes
    os._exit(0)  # there is nothing to save, and waiting for a generation to end would hold its memory


def _die_with(parent: int) -> None:
    """Let the kernel kill this process when its parent ends: while a model loads, no Python code can run."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent ended before the signal was set up
        os._exit(1)


def serve(order: dict[str, Any]) -> Any:
    """Load a model; llama.cpp's server, which serves it as long as something refers to it.

    A build of llama.cpp for a GPU puts as much of the model there as fits.

    Args:
        order: a `RunnerOrder` as data, with the key that requests must have.

    Raises:
        ImportError: llama.cpp itself cannot be loaded.
        RuntimeError: the model cannot be loaded.
    """
    # Here, as only this process may hold llama.cpp, which reads the environment on import.
    import xllamacpp  # type: ignore[import-untyped] # noqa: PLC0415 - it ships no types; see above

    parameters = xllamacpp.CommonParams()
    parameters.model.path = order["path"]
    parameters.n_parallel = order["slots"]
    parameters.n_ctx = order["num_ctx"] * order["slots"]
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = order["threads"]
    parameters.api_keys = [order["key"]]
    # A GPU reads a prompt in less time than it takes to copy one from its memory and back.
    parameters.cache_ram_mib = 0 if _has_gpu(xllamacpp) else order["prompt_cache_mib"]
    parameters.ui = False
    parameters.verbosity = 2  # warnings
    if order["embedding"]:
        parameters.embedding = True
        parameters.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        # llama.cpp pools an input only when it reads all of it in one go.
        parameters.n_batch = parameters.n_ubatch = order["num_ctx"]
    return xllamacpp.Server(parameters)


def _has_gpu(llama: Any) -> bool:
    gpu = llama.ggml_backend_dev_type.GGML_BACKEND_DEVICE_TYPE_GPU
    return any(device["type"] == gpu for device in llama.get_device_info())


if __name__ == "__main__":
    main()
