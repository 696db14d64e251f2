"""The official client of Ollama, in any environment.

Importing it makes a client for OLLAMA_HOST, and fails where that is no address. So it is imported without
the variable; `server.process.connection` reports a wrong address when a server is needed.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ollama"]


@contextmanager
def _without(name: str) -> Iterator[None]:
    value = os.environ.pop(name, None)
    try:
        yield
    finally:
        if value is not None:
            os.environ[name] = value


with _without("OLLAMA_HOST"):
    import ollama
