"""The shell commands that README.md and docs/ show, found as a reader finds them.

A command stands in a fenced block of a shell language, in an indented block, or, shortened, in the text
between backquotes. Indented blocks also hold SQL, YAML and drawings: one is taken for shell if its first word
is a program of `PROGRAMS`.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

from holocron_assets.settings import PROJECT_FOLDER

PROGRAMS = frozenset(
    (
        *("holocron", "make", "python", "pytest", "ruff", "pip", "git"),
        *("dagster", "dagster-daemon", "dagster-webserver", "duckdb", "ollama", "celery"),
        *("systemctl", "systemd-analyze", "systemd-sysusers", "systemd-tmpfiles", "journalctl"),
        *("docker", "helm", "kubectl", "promtool", "prometheus", "redis-server", "redis-cli"),
        *("psql", "pg_dump", "pg_restore", "createdb"),
        *(
            "cat",
            "cd",
            "cp",
            "curl",
            "diff",
            "export",
            "head",
            "ip",
            "jq",
            "ls",
            "mkdir",
            "mv",
            "rm",
            "rsync",
        ),
        *("sed", "sudo", "tail", "tar", "install", "useradd", "chown"),
    )
)
"""First words that make an indented block, or words between backquotes, a command."""

_SHELLS = frozenset(("sh", "bash", "shell", "console"))
_FENCE = re.compile(r"^\s*```(\w*)")
_INLINE = re.compile(r"`([^`\n]+)`")
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
_HERE = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_HERE_TEXT = re.compile(r"<<-?\s*['\"]?\w+['\"]?\n.*", re.DOTALL)
_SEPARATORS = frozenset((";", "|", "||", "&", "&&"))
_PUNCTUATION = ";|&><()"


class Command(NamedTuple):
    """One command as a page shows it.

    Attributes:
        page: the page, from the project's folder.
        line: where it begins, from 1.
        text: what it says, comment and all; more than one line where quotes or a backslash go on.
        shortened: between backquotes: it may leave out what does not matter there, and name alternatives.
    """

    page: str
    line: int
    text: str
    shortened: bool

    def simple(self) -> list[list[str]]:
        """Its simple commands as words, without variables before, redirections and comments.

        Of one that is shortened, what may be left out counts as said, and each alternative is a command.
        """
        if self.shortened:
            words = [word.strip("[]") for word in shlex.split(self.text)]
            return [_own_words(list(chosen)) for chosen in product(*(word.split("|") for word in words))]
        lexer = shlex.shlex(_HERE_TEXT.sub("", self.text), posix=True, punctuation_chars=_PUNCTUATION)
        lexer.whitespace_split = True
        lexer.commenters = "#"
        return [words for words in map(_own_words, _split(lexer)) if words]


class Expected(NamedTuple):
    """What a page says that the commands of the block before print, in a block fenced as `text`.

    Attributes:
        page: the page, from the project's folder.
        line: where it begins.
        lines: what it says; `...` stands for anything, and a line of nothing else for any lines.
    """

    page: str
    line: int
    lines: list[str]


def pages() -> list[Path]:
    """README.md and every page of docs/, whatever folder of it."""
    return [PROJECT_FOLDER / "README.md", *sorted((PROJECT_FOLDER / "docs").rglob("*.md"))]


def commands(page: Path) -> list[Command]:
    """The commands that a page shows in blocks, in its order."""
    name = page.relative_to(PROJECT_FOLDER).as_posix()
    return [
        Command(name, line, text, shortened=False)
        for block in _shell_blocks(page.read_text(encoding="utf-8").splitlines())
        for line, text in _joined(block)
    ]


def walked(page: Path) -> list[Command | Expected]:
    """The commands that a page shows in blocks, and what it says that they print, in its order."""
    name = page.relative_to(PROJECT_FOLDER).as_posix()
    lines = page.read_text(encoding="utf-8").splitlines()
    printed = [
        Expected(name, block[0][0], [line for _, line in block])
        for fence, block in _blocks(lines)
        if fence == "text"
    ]
    return sorted([*commands(page), *printed], key=lambda one: one.line)


def mentioned(page: Path) -> list[Command]:
    """The commands that a page names between backquotes, outside blocks."""
    name = page.relative_to(PROJECT_FOLDER).as_posix()
    lines = page.read_text(encoding="utf-8").splitlines()
    return [
        Command(name, number, text.replace("\\|", "|"), shortened=True)
        for number, line in _prose(lines)
        for text in _INLINE.findall(line)
        if " " in text and _is_command(text)
    ]


def _is_command(text: str) -> bool:
    words = [word for word in text.split() if not _VARIABLE.match(word)]
    return bool(words) and Path(words[0]).name in PROGRAMS


def _shell_blocks(lines: list[str]) -> Iterator[list[tuple[int, str]]]:
    """Every block of shell, as numbered lines."""
    for fence, block in _blocks(lines):
        if fence in _SHELLS if fence is not None else _is_command(block[0][1]):
            yield block


def _blocks(lines: list[str]) -> Iterator[tuple[str | None, list[tuple[int, str]]]]:
    """Every block with its language; None if it is an indented one."""
    fence: str | None = None
    block: list[tuple[int, str]] = []
    for number, line in enumerate([*lines, ""], start=1):
        begins = _FENCE.match(line)
        inside = fence is not None or line.startswith("    ")
        if inside and not begins:
            block.append((number, line.strip() if fence is None else line))
            continue
        if block:
            yield fence, block
        block = []
        if begins:
            fence = begins[1] if fence is None else None


def _prose(lines: list[str]) -> Iterator[tuple[int, str]]:
    fenced = False
    for number, line in enumerate(lines, start=1):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def _joined(block: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Commands of a block: lines are one where a quote is open or a backslash ends them."""
    begun, text = 0, ""
    for number, line in block:
        if not text and (not line.strip() or line.lstrip().startswith("#")):
            continue
        begun, text = (begun, f"{text}\n{line}") if text else (number, line.removeprefix("$ "))
        if not _is_open(text):
            yield begun, text
            text = ""
    if text:
        raise ValueError(f"line {begun}: a quote is never closed: {text}")


def _is_open(text: str) -> bool:
    if text.endswith("\\"):
        return True
    if here := _HERE.search(text.partition("\n")[0]):  # a text that a line of its own ends
        return not text.endswith(f"\n{here[2]}")
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return True
    return False


def _split(words: Iterable[str]) -> Iterator[list[str]]:
    simple: list[str] = []
    for word in words:
        if word in _SEPARATORS:
            yield simple
            simple = []
        else:
            simple.append(word)
    yield simple


def _own_words(words: list[str]) -> list[str]:
    """A command's words without variables set before it, and without where its streams go."""
    own: list[str] = []
    skipped = False
    for word in words:
        if skipped or (not own and _VARIABLE.match(word)):
            skipped = False
        elif set(word) <= set(_PUNCTUATION):
            skipped = word.startswith((">", "<"))
        else:
            own.append(word)
    return own
