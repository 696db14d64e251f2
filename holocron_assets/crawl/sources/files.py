"""Source files: reading them, with errors that name file, line and key, and editing them in place."""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError
from yaml import MarkedYAMLError, YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from holocron_assets.crawl.sources.file_source import FILE_KINDS, FileSource
from holocron_assets.crawl.sources.problems import dotted, explain
from holocron_assets.crawl.sources.source import NAME_PATTERN, NAME_RULE, Source
from holocron_assets.errors import PermanentError, details_of
from holocron_assets.lake.declaration.key_problems import KeyPath, suggestion
from holocron_assets.lake.files.durable import make_folder, sync_folder
from holocron_assets.lake.files.people_settings import first_hand
from holocron_assets.lake.files.people_yaml import compose_yaml, load_yaml
from holocron_assets.lake.place.unfinished import aside_of

SUFFIX = ".yaml"

AnySource = Source | FileSource

_Model = TypeVar("_Model", bound=BaseModel)


class _OfAnyKind(BaseModel):
    """The key that says what a source file describes."""

    kind: Literal["mediawiki_api", "mediawiki_dump", "mediawiki_files", "http_files"] = Field(
        description="how it is read"
    )


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a source file.

    Attributes:
        line: line of the file, from 1; 0 for the whole file.
        key: dotted path of the key, such as `politeness.maxlag`; empty for the whole file.
        text: what is wrong, and what is allowed.
    """

    line: int
    key: str
    text: str


class SourceError(PermanentError, ValueError):
    """A source file, or another file that is written like one, cannot be used.

    The message names file, line and key of each problem.

    Attributes:
        path: the file.
        problems: what is wrong with it, in the file's order.
    """

    def __init__(self, path: Path, *problems: Problem) -> None:
        """Write one line for each problem."""
        self.path = path
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__("\n".join(self._line_of(problem) for problem in self.problems))

    def _line_of(self, problem: Problem) -> str:
        line = f", line {problem.line}" if problem.line else ""
        key = f", key {problem.key!r}" if problem.key else ""
        return f"{self.path}{line}{key}: {problem.text}"


def load_any_source(path: Path) -> AnySource:
    """Read one source file, of pages or of files.

    Raises:
        SourceError: the file cannot be read, is no YAML, or is no valid source.
    """
    return _parse(path, _read_text(path))


def load_source(path: Path) -> Source:
    """Read one source file of pages.

    Raises:
        SourceError: the file cannot be read, is no YAML, or is no valid source of pages.
    """
    source = load_any_source(path)
    if isinstance(source, FileSource):
        raise SourceError(path, Problem(0, "kind", "is a source of files: `holocron files` works on it"))
    return source


def load_file_source(path: Path) -> FileSource:
    """Read one source file of files.

    Raises:
        SourceError: the file cannot be read, is no YAML, or is no valid source of files.
    """
    source = load_any_source(path)
    if isinstance(source, Source):
        raise SourceError(
            path, Problem(0, "kind", f"is a source of pages, not one of {', '.join(FILE_KINDS)}")
        )
    return source


def read_any_sources(folder: Path) -> tuple[dict[str, AnySource], list[SourceError]]:
    """Read all source files of a folder, so that a broken one does not stop the others.

    Returns:
        The good sources by name, and an error for each broken file, both in order of file names.

    Raises:
        SourceError: the folder itself cannot be read.
    """
    sources: dict[str, AnySource] = {}
    errors: list[SourceError] = []
    for path in _source_paths(folder):
        try:
            source = load_any_source(path)
        except SourceError as error:
            errors.append(error)
        else:
            sources[source.name] = source
    return sources, errors


def read_sources(folder: Path) -> tuple[dict[str, Source], list[SourceError]]:
    """Read all source files of pages, as `read_any_sources` does; the errors are those of all files."""
    found, errors = read_any_sources(folder)
    return {name: source for name, source in found.items() if isinstance(source, Source)}, errors


def read_file_sources(folder: Path) -> dict[str, FileSource]:
    """Read all source files of files that can be read, by name."""
    found, _ = read_any_sources(folder)
    return {name: source for name, source in found.items() if isinstance(source, FileSource)}


def read_as(path: Path, model: type[_Model], context: Mapping[str, Any] | None = None) -> _Model:
    """Read a YAML file that is no source file, with the same kind of errors.

    Args:
        path: the file.
        model: what the file describes.
        context: values that its validators need.

    Raises:
        SourceError: the file cannot be read, is no YAML, or does not fit the model.
    """
    root, content = _read_yaml(path, _read_text(path))
    try:
        return model.model_validate(content, context=context)
    except ValidationError as error:
        raise SourceError(path, *_problems(error, root, model)) from error


def set_enabled(folder: Path, name: str, *, enabled: bool) -> None:
    """Switch a source on or off in its file: one word is replaced, and the rest stays as it was.

    Raises:
        SourceError: there is no such source, its file is broken, or the file writes the value in a way that
            cannot be replaced (an alias or a merge key).
    """
    path = _path_of(folder, name)
    text = _read_text(path)
    source = _parse(path, text)
    value = _node_at(_read_yaml(path, text)[0], ("enabled",))
    order_mark = len(text) - len(text.removeprefix("\ufeff"))
    start, end = (order_mark + mark.index for mark in (value.start_mark, value.end_mark))
    edited = f"{text[:start]}{str(enabled).lower()}{text[end:]}"
    if not _says(path, edited, source.model_copy(update={"enabled": enabled})):
        raise SourceError(path, Problem(_line(value), "enabled", "cannot be replaced here: edit it by hand"))
    _replace(path.resolve(), edited)


def write_dump_source(folder: Path, name: str, dump_path: Path) -> Path:
    """Make the source file for an XML export: enabled, with every namespace that the export names.

    Args:
        folder: the sources folder; it is made if it is missing.
        name: the new source's name.
        dump_path: the export; its absolute path is written.

    Returns:
        The new file.

    Raises:
        SourceError: the name is no valid name, or the file is already there.
        DumpError: the export cannot be read.
    """
    from holocron_assets.crawl.dumps.export import read_site  # noqa: PLC0415 - few commands read an export

    refuse_taken(folder, name)
    site = read_site(dump_path, name)
    namespaces = sorted(space["id"] for space in site["namespaces"] if space["id"] >= 0)
    address = str(dump_path.resolve()).replace("'", "''")
    text = (
        f"# An XML export, read whole. See sample.yaml for every key.\nname: {name}\nenabled: true\n"
        f"kind: mediawiki_dump\naddress: '{address}'\nnamespaces: {namespaces}\n"
    )
    return write_new_source(folder, name, text)


def write_new_source(folder: Path, name: str, text: str) -> Path:
    """Write the file of a new source.

    Args:
        folder: the sources folder; it is made if it is missing.
        name: the new source's name.
        text: the file's text.

    Returns:
        The new file.

    Raises:
        SourceError: the name is no valid name, the file is already there, or the text describes no source.
    """
    path = refuse_taken(folder, name)
    make_folder(folder)
    _parse(path, text)
    _replace(path, text)
    return path


def refuse_taken(folder: Path, name: str) -> Path:
    """The file of a source that is not there yet.

    Raises:
        SourceError: the name is no valid name, or the file is already there.
    """
    path = _path_of(folder, name)
    if path.exists():
        raise SourceError(path, Problem(0, "", "is there already: choose another name, or edit it by hand"))
    return path


def source_names(folder: Path) -> list[str]:
    """Names of the source files, whether they can be read or not.

    Raises:
        SourceError: the folder cannot be read.
    """
    return [path.stem for path in _source_paths(folder)]


def _source_paths(folder: Path) -> Iterator[Path]:
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        problem = f"the sources folder cannot be read: {error.strerror}"
        raise SourceError(folder, Problem(0, "", problem)) from error
    return (path for path in paths if path.suffix in {SUFFIX, ".yml"})


def _path_of(folder: Path, name: str) -> Path:
    if not NAME_PATTERN.fullmatch(name):
        raise SourceError(folder, Problem(0, "", f"{name!r} is no source name: it {NAME_RULE}"))
    return folder / f"{name}{SUFFIX}"


def _read_text(path: Path) -> str:
    if path.suffix != SUFFIX:
        raise SourceError(path, Problem(0, "", f"must be called {path.stem}{SUFFIX} to be read"))
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        meant = suggestion(path.stem, sorted(one.stem for one in path.parent.glob(f"*{SUFFIX}")))
        raise SourceError(path, Problem(0, "", f"there is no such source file{meant}")) from error
    except OSError as error:
        raise SourceError(path, Problem(0, "", f"cannot be read: {error.strerror}")) from error
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SourceError(path, Problem(line, "", "is not UTF-8 text: save it as UTF-8")) from error


def _parse(path: Path, text: str) -> AnySource:
    root, content = _read_yaml(path, text)
    kind = content.get("kind")
    model: type[AnySource] = FileSource if kind in FILE_KINDS else Source
    try:
        if kind is not None:
            _OfAnyKind.model_validate(content)
        return model.model_validate(content, context={"file": path})
    except ValidationError as error:
        raise SourceError(path, *_problems(error, root, model)) from None


def _says(path: Path, text: str, wanted: AnySource) -> bool:
    try:
        return _parse(path, text) == wanted
    except SourceError:
        return False


def _read_yaml(path: Path, text: str) -> tuple[MappingNode, Any]:
    """The file's nodes, with their lines, and its values."""
    try:
        root, content = compose_yaml(text), load_yaml(text)
    except YAMLError as error:
        raise _yaml_error(path, text, error) from None  # the cause quotes lines, which may hold a password
    if not isinstance(root, MappingNode):
        found = "is empty" if root is None else "is not a mapping"
        raise SourceError(path, Problem(1, "", f"{found}: it must be a mapping of keys"))
    return root, content


def _yaml_error(path: Path, text: str, error: Exception) -> SourceError:
    match error:
        case MarkedYAMLError():
            mark = error.problem_mark or error.context_mark
            problem = ", ".join(part for part in (error.context, error.problem) if part)
            return SourceError(
                path, Problem(mark.line + 1 if mark else 0, "", f"is not valid YAML: {problem}")
            )
        case ReaderError():
            line = text.encode()[: error.position].count(b"\n") + 1  # libyaml counts bytes
            problem = f"is not valid YAML: character {error.character!r} is not allowed"
            return SourceError(path, Problem(line, "", problem))
    return SourceError(path, Problem(0, "", f"is not valid YAML: {error}"))


def _problems(error: ValidationError, root: Node, model: type[BaseModel] = Source) -> Iterator[Problem]:
    for details in first_hand(details_of(error)):
        keys = tuple(part for part in details["loc"] if part != "[key]")
        yield Problem(_line(_node_at(root, keys)), dotted(keys), explain(details, keys, model))


def _node_at(root: Node, keys: KeyPath) -> Node:
    """The node of a key; if the file does not hold it, the nearest node around it."""
    node = root
    for key in keys:
        child = _child(node, key)
        if child is None:
            break
        node = child
    return node


def _child(node: Node, key: str | int) -> Node | None:
    match node:
        case MappingNode():
            values: list[Any] = [value for name, value in node.value if _names(name, key)]
            return values[0] if values else None
        case SequenceNode() if isinstance(key, int) and key < len(node.value):
            item: Node = node.value[key]
            return item
    return None


def _names(node: Node, key: str | int) -> bool:
    return isinstance(node, ScalarNode) and bool(node.value == str(key))


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all: it is written under another name first, and then renamed.

    Unlike a file of the lake, it needs no lock: people may keep sources on a disk that has none.
    """
    aside = aside_of(path)
    try:
        with aside.open("xb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, aside)
        aside.replace(path)
        sync_folder(path.parent)
    finally:
        aside.unlink(missing_ok=True)
