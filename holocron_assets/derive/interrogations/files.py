"""Interrogations as files: a YAML file, or a folder with one and with files for its longer texts."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
from pydantic import ValidationError
from yaml import YAMLError

from holocron_assets.derive.code.answers import row_columns
from holocron_assets.derive.evidence.queries import QueryError, ask_query, relations_named, relations_to_open
from holocron_assets.derive.evidence.room import room_for_evidence
from holocron_assets.derive.interrogations.answer_schema import sample_answer
from holocron_assets.derive.interrogations.chains import ChainError, linked, linked_to
from holocron_assets.derive.interrogations.conditions import ConditionError, check_condition
from holocron_assets.derive.interrogations.interrogation import Interrogation, InterrogationError
from holocron_assets.derive.interrogations.loading import Reading
from holocron_assets.derive.interrogations.questions import SAMPLES
from holocron_assets.derive.interrogations.searches import with_search
from holocron_assets.derive.interrogations.spaces import Space
from holocron_assets.derive.interrogations.templates import TemplateError, holds, rendered
from holocron_assets.derive.items.inputs import input_variables, sample_inputs
from holocron_assets.derive.items.prompting import system_part
from holocron_assets.derive.items.values import query_names
from holocron_assets.errors import details_of
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables.retrieval import SPACE_PREFIX
from holocron_assets.lake.views.database import connect
from holocron_assets.lake.views.spilling import lock_database
from holocron_assets.settings import spaces_folder

_MAIN_FILE = "interrogation.yaml"
_FURTHER_FILES = {
    "prompt": "prompt.md",
    "question": "question.md",
    "retry_prompt": "retry.md",
    "follow_up": "follow_up.md",
    "answer_schema": "schema.json",
    "examples": "examples.yaml",
}
"""Keys that a folder may hold as files of their own."""

_QUERY_SECONDS = 10.0
"""How long a query of an empty lake may take."""

_LEAST_ROOM = 200
"""Fewest tokens of evidence, some sentences: with less, asking makes no sense."""

_NEEDED_COLUMNS = {
    "page_classification": (
        "primary_type",
        "types",
        "confidence",
        "needs_review",
        "work_medium",
        "canon_context",
        "description",
        "tags",
        "rationale",
    ),
    "template_types": ("primary_type",),
    "entity_extraction": ("evidence", "name", "type", "aliases", "attributes"),
    "listed_names": ("evidence", "name", "type"),
}
"""Columns that other parts of Holocron read from an interrogation's table, by its key."""

_READERS = {
    "page_classification": "table page_types is",
    "template_types": "table type_proposals is",
    "entity_extraction": "tables entity_mentions, entity_facts and page_tags are",
    "listed_names": "table entity_mentions is",
}


class _BrokenError(InterrogationError):
    """One interrogation of several cannot be used.

    Attributes:
        name: its name.
    """

    def __init__(self, interrogation: Interrogation, problem: str) -> None:
        """Say which and why."""
        super().__init__(problem)
        self.name = interrogation.name


def read_version(path: Path, known: Iterable[Interrogation]) -> Interrogation:
    """Read and check one interrogation that is in no folder of interrogations, to try it.

    Args:
        path: a file whose name ends in `.yaml`, or a folder like those of `read_each`.
        known: the interrogations that it may build on. It takes the place of one of the same name.

    Raises:
        InterrogationError: it cannot be used; the message names file, key and reason.
    """
    file = path / _MAIN_FILE if path.is_dir() else path
    read, *searching = _with_search(file, _validated(file))
    replaced = {read.name, *(one.name for one in searching)}
    others = [*(one for one in known if one.name not in replaced), *searching]
    try:
        own = linked_to(read, others)
    except ChainError as error:
        raise InterrogationError(f"{file}: {error}") from error
    if own.kind == "model":
        _check_templates(file, own)
    tables = [one.table for one in (*others, own) if not one.shadow]
    _check_queries([(file, own)], tables)
    return own


def read_each(*folders: Path) -> Reading:
    """Read and check every interrogation of some folders, so that a broken one does not stop the others.

    Args:
        folders: each holds files `KEY.yaml` or folders `KEY/`; a shadow's name may go on after `KEY`.
    """
    found: dict[str, tuple[Path, Interrogation]] = {}
    broken: dict[str, str] = {}
    for folder in folders:
        try:
            paths = _paths(folder)
        except InterrogationError as error:
            broken[str(folder)] = str(error)
            continue
        for path in paths:
            try:
                several = _read(path)
                if taken := [one.name for one in several if one.name in found]:
                    by = found[taken[0]][0]
                    raise InterrogationError(f"{path}: key: {taken[0]!r} is taken by {by}")  # noqa: TRY301 - noted like any other
            except InterrogationError as error:
                broken[_name_of(path)] = str(error)
            else:
                found |= {one.name: (path, one) for one in several}
    while True:  # another one may read the one left out: the rest is checked again
        try:
            return Reading(_checked(found), broken)
        except _BrokenError as error:
            broken[error.name] = str(error)
            del found[error.name]


def _checked(read: Mapping[str, tuple[Path, Interrogation]]) -> tuple[Interrogation, ...]:
    """The same interrogations, linked and checked together.

    Raises:
        _BrokenError: one cannot be used.
    """
    found = _linked(read)
    for path, interrogation in found.values():
        if interrogation.kind == "model":
            _check_templates(path, interrogation)
    _check_contexts(found.values())
    _check_queries(found.values(), [one.table for _, one in found.values() if not one.shadow])
    return tuple(found[name][1] for name in sorted(found))


def _linked(found: Mapping[str, tuple[Path, Interrogation]]) -> dict[str, tuple[Path, Interrogation]]:
    """The same interrogations, each linked to those that it reads."""
    try:
        known = linked(interrogation for _, interrogation in found.values())
    except ChainError as error:
        path, interrogation = found[error.interrogation]
        raise _BrokenError(interrogation, f"{path}: {error}") from error
    return {one.name: (found[one.name][0], one) for one in known}


def _name_of(path: Path) -> str:
    return path.parent.name if path.name == _MAIN_FILE else path.stem


def _paths(folder: Path) -> list[Path]:
    try:
        entries = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
    except OSError as error:
        raise InterrogationError(f"{folder}: the folder cannot be read: {error.strerror}") from error
    mains = [path / _MAIN_FILE if path.is_dir() else path for path in entries]
    return [path for path in mains if path.suffix != ".md"]


def _read(path: Path) -> tuple[Interrogation, ...]:
    """A file's interrogation, and the one that searches for its evidence, if it has such evidence."""
    interrogation, name = _validated(path), _name_of(path)
    name = f"{SPACE_PREFIX}{name}" if interrogation.is_space else name
    if not name.startswith(interrogation.key) or (name != interrogation.key and not interrogation.shadow):
        raise InterrogationError(f"{path}: key: must be {_name_of(path)!r}, as the file is called")
    return _with_search(path, interrogation)


def _with_search(path: Path, interrogation: Interrogation) -> tuple[Interrogation, ...]:
    try:
        return with_search(interrogation)
    except ValidationError as error:
        raise InterrogationError(f"{path}: evidence: its search: {_problem(error)}") from error
    except ValueError as error:
        raise InterrogationError(f"{path}: {error}") from error


def _validated(path: Path) -> Interrogation:
    """An interrogation whose file may have any name."""
    if path.suffix != ".yaml":
        raise InterrogationError(f"{path}: must be called {path.stem}.yaml to be read")
    content = _yaml(path)
    if not isinstance(content, Mapping):
        raise InterrogationError(f"{path}: is no mapping of keys such as key and prompt")
    try:
        if path.parent == spaces_folder():
            return Interrogation.model_validate(Space.model_validate(content).declared())
        if content.get("kind") == "embedding":
            raise InterrogationError(f"{path}: kind: a space is a file of its own in {spaces_folder()}")
        interrogation = Interrogation.model_validate({**content, **_own_files(path, content)})
    except ValidationError as error:
        raise InterrogationError(f"{path}: {_problem(error)}") from error
    _check_columns(path, interrogation)
    return interrogation


def _own_files(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """The values of keys that have files of their own."""
    if path.name != _MAIN_FILE:
        return {}
    files = {key: path.parent / name for key, name in _FURTHER_FILES.items() if (path.parent / name).exists()}
    if unknown := {file.name for file in path.parent.iterdir()} - {_MAIN_FILE, *_FURTHER_FILES.values()}:
        raise InterrogationError(f"{path.parent / min(unknown)}: no such file is read")
    if twice := files.keys() & content.keys():
        key = min(twice)
        raise InterrogationError(f"{path}: {key}: is also in {files[key].name}; keep one of them")
    return {key: _value(file) for key, file in files.items()}


def _value(file: Path) -> Any:
    text = _text(file)
    if file.suffix == ".yaml":
        return _yaml(file)
    if file.suffix != ".json":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InterrogationError(f"{file}: is not valid JSON: {error}") from error


def _yaml(file: Path) -> Any:
    text = _text(file)
    try:
        return load_yaml(text)
    except YAMLError as error:
        raise InterrogationError(f"{file}: is not valid YAML: {error}") from error


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InterrogationError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InterrogationError(f"{file}: is not UTF-8 text: save it as UTF-8") from error


def _problem(error: ValidationError) -> str:
    first = details_of(error)[0]
    key = ".".join(map(str, first["loc"]))
    words = {"extra_forbidden": "is no known key", "missing": "is missing"}
    problem = words.get(first["type"], first["msg"])
    return f"{key}: {problem}" if key else problem


def _check_templates(path: Path, interrogation: Interrogation) -> None:
    sample = {**SAMPLES[interrogation.over], **input_variables(interrogation, sample_inputs(interrogation))}
    tried = "prompt"
    try:
        system_part(interrogation.model_copy(update={"examples": ()}))
        tried = "examples"
        system = system_part(interrogation)
        tried = "question"
        question = rendered(interrogation.question, sample)
        tried = "evidence.query"
        rendered(interrogation.searched.query if interrogation.searched else "", SAMPLES[interrogation.over])
        answers = []
        for number, step in enumerate(interrogation.follow_up):
            answers.append(sample_answer(interrogation.answer_schema))
            named = {**sample, "answer": answers[-1], "answers": answers}
            tried = f"follow_up.{number}.when"
            holds(step.when or "true", named)
            tried = f"follow_up.{number}.ask"
            rendered(step.ask, named)
            tried = f"follow_up.{number}.otherwise"
            rendered(step.otherwise or "", named)
        tried = "retry_prompt"
        rendered(interrogation.retry_prompt or "", {**sample, "error": "answer: is no JSON"})
    except TemplateError as error:
        raise _BrokenError(interrogation, f"{path}: {tried}: {error}") from error
    room = room_for_evidence(interrogation, system, question)
    if room < _LEAST_ROOM:
        raise _BrokenError(
            interrogation,
            f"{path}: options.num_ctx: prompt, question and answer leave room for {room} tokens of evidence; "
            f"at least {_LEAST_ROOM} are needed: raise num_ctx, or shorten the prompt or num_predict",
        )


def _check_contexts(found: Iterable[tuple[Path, Interrogation]]) -> None:
    """Refuse different values of `num_ctx` for the same model: it would be loaded again at every turn.

    A shadow may try another one, and costs loads while it runs.
    """
    first: dict[str, tuple[Path, int]] = {}
    for path, interrogation in found:
        for model in () if interrogation.shadow or interrogation.is_of_code else interrogation.models:
            wanted = interrogation.options.num_ctx
            other, known = first.setdefault(model, (path, wanted))
            if wanted != known:
                raise _BrokenError(
                    interrogation,
                    f"{path}: options.num_ctx: is {wanted}, but {known} in {other}, which may ask {model}; "
                    "a model is loaded anew for another num_ctx: give both the same",
                )


def _check_queries(found: Collection[tuple[Path, Interrogation]], tables: Sequence[Table]) -> None:
    """Ask the queries of an empty lake with these tables: what they name must exist."""
    asking = [(path, one) for path, one in found if one.asks_the_lake or one.tables_read]
    if not asking:
        return
    with TemporaryDirectory() as folder:
        empty = Lake(Path(folder), tuple(tables))
        with connect(empty, relations=_relations_to_check(asking, empty), kind="own") as connection:
            lock_database(connection, empty)
            for path, interrogation in asking:
                key = "sql" if interrogation.kind == "sql" else "evidence"
                try:
                    _ask_all(interrogation, connection)
                    if interrogation.kind == "sql":
                        _check_rows(connection, interrogation)
                    if (condition := interrogation.wants.sql) is not None:
                        check_condition(condition, interrogation.over, interrogation.wants.of, empty)
                except QueryError as error:
                    raise _BrokenError(interrogation, f"{path}: {key}: {error}") from error
                except ConditionError as error:
                    raise _BrokenError(interrogation, f"{path}: {error}") from error


def _relations_to_check(asking: Iterable[tuple[Path, Interrogation]], lake: Lake) -> Collection[str] | None:
    """What the queries read, since few views are quicker to make than all; None if one is not understood."""
    queries = (sql for _, interrogation in asking for sql in interrogation.queries)
    try:
        return relations_to_open(lake, {named for sql in queries for named in relations_named(sql)})
    except QueryError:  # it names the file once the query is asked
        return None


def _ask_all(interrogation: Interrogation, connection: duckdb.DuckDBPyConnection) -> None:
    values = dict.fromkeys(query_names(interrogation))
    for sql in interrogation.queries:
        ask_query(connection, sql, values, _QUERY_SECONDS)


def _check_rows(connection: duckdb.DuckDBPyConnection, interrogation: Interrogation) -> None:
    """Refuse a query of kind 'sql' whose columns are not those of the answer's rows."""
    sql = (interrogation.sql or "").rstrip().removesuffix(";")
    values = dict.fromkeys(query_names(interrogation))
    # At least one row, so that its columns are known.
    asked = ask_query(connection, f"from (select 1) left join ({sql}\n) on true", values, _QUERY_SECONDS)
    found = asked.columns[1:]
    known, required = row_columns(interrogation.answer_schema, interrogation.rows.each)
    if lacking := sorted(required.difference(found)):
        raise QueryError(f"it gives no {', '.join(lacking)}, which the answer's rows must have")
    if unknown := sorted(set(found) - known):
        raise QueryError(f"it gives {', '.join(unknown)}, which the answer's rows do not have")


def _check_columns(path: Path, interrogation: Interrogation) -> None:
    missing = set(_NEEDED_COLUMNS.get(interrogation.key, ())) - set(interrogation.answer_columns)
    if missing:
        raise InterrogationError(
            f"{path}: answer_schema: lacks {', '.join(sorted(missing))}, "
            f"which {_READERS[interrogation.key]} made from"
        )
