"""Who may import whom. Rooms know those below them, and only the top knows Dagster."""

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from holocron_assets.settings import PROJECT_FOLDER

PACKAGE = PROJECT_FOLDER / "holocron_assets"
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_MODULES_IN_A_FOLDER = 15

_TOP = {"errors", "frozen_model", "settings", "interrupts", "loopback_guard"}
"""Modules of the package's root that any room may import. They import no room."""

CONTRACTS = {
    "telemetry": set(),
    "lake": {"telemetry"},
    "decisions": {"lake"},
    "languages": {"lake"},
    "crawl": {"lake", "languages", "decisions", "telemetry"},
    "signals": {"lake", "languages"},
    "classify": {"lake", "languages", "decisions"},
    "derive": {"lake", "decisions", "telemetry", "crawl", "signals", "classify"},
    "entities": {"lake", "languages", "decisions", "classify", "derive"},
    "retrieval": {"lake", "derive", "entities"},
    "exports": {"lake"},
    "trials": {"lake", "languages", "decisions", "derive", "classify", "entities"},
    "operations": {"lake", "decisions", "telemetry", "crawl", "classify", "derive", "entities"},
    "review": {
        *("lake", "languages", "decisions", "telemetry", "classify", "entities", "operations"),
        *("retrieval", "trials"),
    },
    "planning": {
        *("lake", "languages", "decisions", "telemetry", "crawl", "signals", "classify", "derive"),
        *("entities", "operations", "retrieval", "review"),
    },
    "doors": {
        *("lake", "decisions", "telemetry", "crawl", "classify", "derive", "entities", "operations"),
        *("retrieval", "planning", "review"),
    },
    "orchestration": {
        *("lake", "decisions", "telemetry", "crawl", "signals", "classify", "derive", "entities"),
        *("operations", "retrieval", "review", "planning", "definitions"),
    },
}
"""The rooms that each room may import. `cli` and `definitions` may import all."""

ANY_ROOM = {"cli", "definitions"}

KNOW_DAGSTER = {"orchestration", "definitions", "cli"}

OPEN_CONNECTIONS = {
    "crawl/http/client.py": "requests to wikis and webhooks",
    "crawl/http/connecting.py": "what the client connects with",
    "crawl/http/connections.py": "what it connects with opens them here",
    "derive/engine/bounded_client.py": "the model server",
    "derive/server/process/loopback.py": "our own processes on this machine",
    "orchestration/local/helpers.py": "a pair of sockets to a process of its own",
    "orchestration/runtime/services.py": "a free port of this machine",
    "review/web/serving.py": "the web pages' port",
}


def room_of(module: Path) -> str:
    """The room that a module is in, or the module itself where it is in none."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def imported(module: Path) -> Sequence[str]:
    """Full names of the modules that a module imports, wherever in it."""
    return list(_imported(module))


def _imported(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative imports hide who imports whom"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_imported(module: Path) -> set[str]:
    """Rooms and top modules of Holocron that a module imports."""
    names = [name.split(".") for name in imported(module)]
    known = CONTRACTS.keys() | ANY_ROOM | _TOP
    return {name[1] for name in names if name[0] == "holocron_assets" and len(name) > 1 and name[1] in known}


def relative(module: Path) -> str:
    return str(module.relative_to(PACKAGE))


def test_every_module_is_in_a_known_room() -> None:
    assert {room_of(module) for module in MODULES} == CONTRACTS.keys() | ANY_ROOM | _TOP | {"__init__"}


def test_a_room_imports_only_rooms_that_its_contract_names() -> None:
    broken = {
        relative(module): beyond
        for module in MODULES
        if (room := room_of(module)) in CONTRACTS
        and (beyond := rooms_imported(module) - CONTRACTS[room] - _TOP - {room})
    }
    assert broken == {}


def test_what_rooms_share_knows_no_room() -> None:
    assert {name: rooms_imported(PACKAGE / f"{name}.py") - _TOP for name in _TOP} == {
        key: set() for key in _TOP
    }


def test_a_folder_has_a_number_of_modules_that_can_be_surveyed() -> None:
    folders = {module.parent for module in MODULES}
    counts = {
        relative(folder): len([file for file in folder.glob("*.py") if file.name != "__init__.py"])
        for folder in folders
    }
    assert {name: count for name, count in counts.items() if count > MOST_MODULES_IN_A_FOLDER} == {}


def test_every_folder_of_modules_says_what_belongs_there() -> None:
    folders = {module.parent for module in MODULES}
    silent = [
        relative(folder)
        for folder in folders
        if not ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_only_the_top_knows_dagster() -> None:
    know = {
        relative(module)
        for module in MODULES
        if room_of(module) not in KNOW_DAGSTER
        and any(name.split(".")[0].startswith("dagster") for name in imported(module))
    }
    assert know == set()


def test_no_module_opens_a_connection_but_those_listed() -> None:
    clients = {"httpx", "httpcore", "requests", "urllib3", "aiohttp", "anyio", "socket"}
    asking = {relative(m) for m in MODULES if clients & {name.split(".")[0] for name in imported(m)}}
    assert asking == OPEN_CONNECTIONS.keys()
