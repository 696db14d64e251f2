"""The official client of Ollama, in whatever environment.

Importing it makes a client of what OLLAMA_HOST says, and fails where that is no address. So it is imported
without; `models.connection` tells of a wrong address when a server is looked for.
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
