"""Versions of code, computed from the code itself, so that nobody has to raise a number."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from holocron_assets.lake.declaration.code_stamp import code_stamp
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.plain_code import plain_code
from holocron_assets.lake.files.kept import keep
from holocron_assets.settings import state_folder

_PACKAGE = "holocron_assets"
_DATA = (".yaml", ".sql")
_TITLES = f"{_PACKAGE}.lake.titles"
"""The module that makes titles, names of templates and of files: it counts for each room that imports it."""

_MOST_FILES = 8
"""Files of versions that are kept, the newest: one for each state of the code."""


@cache
def code_version(*modules: str) -> str:
    """A hash of the code of some modules, and of all modules of their own rooms that they import.

    A room is a package of Holocron's root. Of other rooms only the module that makes titles counts. Comments,
    docstrings and layout do not count; data files next to the code that it names do. If the version changes,
    everything that the code derived is derived again. That fetches nothing, and is cheaper than a lake with
    results of older code. The version is the same on every Python, since machines that share a lake may have
    different ones.

    Args:
        modules: import names of the modules.
    """
    return _remembered(" ".join(modules), lambda: _code_version(modules))


def _code_version(modules: Sequence[str]) -> str:
    rooms = {_room(name) for name in modules}
    reached: dict[str, Path] = {}
    waiting = set(modules)
    while waiting:
        name = waiting.pop()
        counts = name == _TITLES or _room(name) in rooms
        if name not in reached and counts and (file := _file(name)):
            reached[name] = file
            waiting |= plain_code(file.read_text(encoding="utf-8")).imports
    parts = [f"{name}\n{_code_and_data(reached[name])}" for name in sorted(reached)]
    return content_hash("\n".join(parts))[:12]


@cache
def module_version(name: str) -> str:
    """A hash of a module's code; comments, docstrings and layout do not count.

    Args:
        name: its import name.

    Raises:
        ImportError: there is no such module.
    """
    if _room(name) is None:  # of other packages nothing says that they are as they were
        return _module_version(name)
    return _remembered(f"module {name}", lambda: _module_version(name))


def _module_version(name: str) -> str:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ImportError(f"there is no module {name!r} with a file of its own", name=name)
    return content_hash(plain_code(Path(spec.origin).read_text(encoding="utf-8")).text)[:12]


def _remembered(what: str, made: Callable[[], str]) -> str:
    """A version that this or another process took of the same code; taken now if none did.

    To read the code of some rooms takes a second.
    """
    if (file := _versions_file()) is None:
        return made()
    known = _known_versions(file)
    if what not in known:
        known[what] = made()
        keep(file, json.dumps(known).encode(), most=_MOST_FILES)
    return known[what]


@cache
def _known_versions(file: Path) -> dict[str, str]:
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _versions_file() -> Path | None:
    """Where versions of today's code are kept for other processes."""
    stamp = code_stamp()
    return None if stamp is None else state_folder() / "versions" / f"{stamp}.json"


def _room(name: str) -> str | None:
    """The room that a module is in; None if the module is not Holocron's."""
    package, _, rest = name.partition(".")
    return rest.partition(".")[0] if package == _PACKAGE else None


def _file(name: str) -> Path | None:
    """The file of a module of Holocron; None if the name is that of something else."""
    root = Path(__file__).parents[2]
    file = root.joinpath(*name.split(".")[1:]).with_suffix(".py")
    return file if file.is_file() else None


def _code_and_data(module: Path) -> str:
    code = plain_code(module.read_text(encoding="utf-8"))
    data = sorted(
        file
        for file in module.parent.iterdir()
        if file.suffix in _DATA
        and (file.name in code.strings or file.suffix in code.strings)  # f"{name}.sql" names all
    )
    return "\n".join([code.text, *(f"{file.name}\n{file.read_text(encoding='utf-8')}" for file in data)])
