"""A version of code changes with what the code does, and with nothing else."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holocron_assets.lake.declaration import versions
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.plain_code import plain_code
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.settings import PROJECT_FOLDER

PLAIN_CODE = PROJECT_FOLDER / "holocron_assets" / "lake" / "declaration" / "plain_code.py"

GRAMMAR = r'''
"""A module."""
from __future__ import annotations
import os.path as path  # why

NUMBERS = [1, 2.5, 3j, ..., None, True, -1, 1_000]
"""A note on an attribute."""
TEXTS = {"a": b"b", 'c': f"x{path!r:>{10}}y" "z", **{}}

class Box(Exception, metaclass=type):
    """A class."""
    size: int = 0

    def grow(self, by: int = 1, /, *more: int, fast: bool = False, **named: int) -> Box:
        """Grow."""
        global COUNT
        self.size += by
        return self if (n := by) else [x for x in more if x < n]

async def run(things):
    async with things as t, open("f") as g:
        async for each in t:
            yield await each
    try:
        raise ValueError("no") from None
    except (ValueError, TypeError) as error:
        assert error, "why"
    else:
        del t
    finally:
        pass
    match things:
        case {"a": [1, *rest], **other} if rest:
            return
        case Box(size=3) | None:
            pass
    while True:
        break
    lambda a, *b, c=1: (yield)
    x = a[1:2, ::3] @ b // c if not d else ~e
'''

RECORDED = "4e8b631d6cc9"
"""The hash of what `GRAMMAR` does, as Python 3.11, 3.12 and 3.13 say it."""


@pytest.fixture(name="copy")
def a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A copy of the package; gives the version of a module in it after an edit of one of its files."""
    package = tmp_path / "holocron_assets"
    shutil.copytree(
        PROJECT_FOLDER / "holocron_assets", package, ignore=shutil.ignore_patterns("__pycache__", "static")
    )
    monkeypatch.setattr(versions, "code_stamp", lambda: None)  # what is known is not of the copy
    monkeypatch.setattr(versions, "__file__", str(package / "lake" / "declaration" / "versions.py"))

    def version(of: str, file: str = "", edit: Callable[[str], str] = str) -> str:
        if file:
            (package / file).write_text(edit((package / file).read_text(encoding="utf-8")), encoding="utf-8")
        return code_version.__wrapped__(f"holocron_assets.{of}")

    return version


def test_a_comment_a_docstring_or_a_blank_line_makes_no_other_version(copy: Callable[..., str]) -> None:
    before = copy("signals.extract")
    commented = copy(
        "signals.extract",
        "signals/lead.py",
        lambda text: f"# why\n{text.replace(chr(34) * 3, chr(34) * 3 + 'So: ', 1)}\n\n",
    )
    assert commented == before


def test_code_that_is_reached_makes_another_version(copy: Callable[..., str]) -> None:
    before = copy("signals.extract"), copy("classify.merge")
    edited = copy("signals.extract", "signals/lead.py", lambda text: f"{text}\n_ADDED = 1\n")
    assert edited != before[0]
    assert copy("classify.merge") == before[1], "it is of another room"


@pytest.mark.parametrize("module", ["signals.links", "signals.file_uses", "signals.infobox.values"])
def test_other_code_that_makes_titles_makes_another_version_of_what_has_them(
    copy: Callable[..., str], module: str
) -> None:
    before = copy(module)
    assert copy(module, "lake/attempts.py", lambda text: f"{text}\n_ADDED = 1\n") == before
    assert copy(module, "lake/titles.py", lambda text: f"{text}\n_ADDED = 1\n") != before


def test_a_module_that_is_not_reached_makes_no_other_version(copy: Callable[..., str]) -> None:
    before = copy("signals.links")
    assert copy("signals.links", "signals/lead.py", lambda text: f"{text}\n_ADDED = 1\n") == before


def test_a_data_file_that_is_read_makes_another_version(copy: Callable[..., str]) -> None:
    for module, data, other in (
        ("signals.extract", "signals/vocabulary.yaml", "classify.merge"),
        ("classify.merge", "classify/taxonomy.yaml", "signals.extract"),
        ("languages.language", "languages/ru.yaml", "classify.merge"),
        ("entities.tags.store", "entities/tags/tag_rows.sql", "entities.store"),
        ("review.store", "review/queue.sql", "entities.store"),
    ):
        before = copy(module), copy(other)
        assert copy(module, data, lambda text: f"{text}\n") != before[0], module
        assert copy(other) == before[1], other


def test_all_python_versions_read_the_same_of_a_module() -> None:
    assert content_hash(plain_code(GRAMMAR).text)[:12] == RECORDED


def _works(python: str) -> bool:
    return not subprocess.run([python, "-c", ""], check=False, capture_output=True).returncode  # noqa: S603


@pytest.mark.system
@pytest.mark.parametrize("name", ["python3.12", "python3.13", "python3.14"])
def test_another_python_of_this_machine_reads_the_same_of_every_module(name: str) -> None:
    places = (shutil.which(name), *map(str, Path.home().glob(f".pyenv/versions/*/bin/{name}")))
    python = next((place for place in places if place and _works(place)), None)
    if not python:
        pytest.skip(f"this machine has no {name} that works")
    program = (
        "import hashlib, sys; sys.path.insert(0, sys.argv[1]); from plain_code import plain_code\n"
        "from pathlib import Path\n"
        "files = sorted(Path(sys.argv[2]).rglob('*.py'))\n"
        "texts = [plain_code(file.read_text(encoding='utf-8')).text for file in files]\n"
        "print(hashlib.sha256('\\n'.join(texts).encode()).hexdigest())"
    )
    said = {
        subprocess.run(  # noqa: S603 - our own program
            [one, "-c", program, str(PLAIN_CODE.parent), str(PROJECT_FOLDER / "holocron_assets")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for one in (python, sys.executable)
    }
    assert len(said) == 1
