"""PyArrow without pandas, which is for notebooks: see `holocron_assets.doors.frames`.

PyArrow imports pandas when it first converts a list or a time, only to ask whether the list is a series of
pandas. That takes a quarter of a second and 40 MiB in each process.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa


class _NoPandas(MetaPathFinder):
    """A finder by which there is no pandas."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname == "pandas":
            raise ImportError(fullname)
        return None


def keep_pandas_out() -> None:
    """Let PyArrow look for pandas now, and find none, unless it is imported already.

    PyArrow remembers that. For a data frame it looks again.
    """
    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(finder)
