"""Why a file was fetched, or was not, or not yet."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import FILES
from holocron_assets.lake.views.database import connect, query
from holocron_assets.operations.why.answers import Answer, at, named
from holocron_assets.operations.why.fetching import obstacles

_FRONTIER = """
    select * from file_frontier
    where (name = $name or artifact_id = $name) and coalesce(source = $source, true)
    order by source
"""
_BEFORE = """
    select count(*) as files
    from file_frontier as other
    where source = $source and status = 'pending' and position < $position
"""
_TRIED = """
    select resolver, url, outcome, reason, error from file_attempts
    where artifact_key = $key
    qualify dense_rank() over (order by batch desc) = 1
    order by place
"""
_TRACEBACKS = "select stage, traceback from tracebacks where stage = 'files' and item = $key::varchar"
_REASONS = {
    "new": "It was never asked for.",
    "changed": "Its source states another version than the one that was fetched.",
    "retry": "It failed, and may be tried again now.",
    "requeue": "A person lets it be tried again.",
}


def why_files(
    lake: Lake, name: str, source: str | None, sources: Mapping[str, FileSource], politeness_folder: Path
) -> list[tuple[str, str, list[Answer]]]:
    """Why the files of a name were fetched, or were not, or not yet.

    Args:
        lake: the lake.
        name: a title, an address or an artifact's id, as a source lists it.
        source: only this source; all if None.
        sources: the sources of files, by name.
        politeness_folder: shared state of processes about hosts.

    Returns:
        Source, name and answers of each; none if no source lists it.
    """
    with connect(lake, relations=["file_frontier"]) as connection:
        found = query(connection, _FRONTIER, {"name": name, "source": source})
    return [
        (row["source"], row["name"], [_answer(lake, row, sources[row["source"]], politeness_folder)])
        for row in found
        if row["source"] in sources
    ]


def _answer(lake: Lake, file: Mapping[str, Any], source: FileSource, politeness_folder: Path) -> Answer:
    in_the_way, commands = obstacles(lake, source, politeness_folder)
    crawl = f"holocron crawl --source {source.name}"
    requeue = f"holocron requeue --source {source.name} --title {named(file['name'])} --reason WHY"
    tried = _tried(lake, file["artifact_key"])
    match file["status"]:
        case "done":
            says = f"It was fetched; the bytes were the present ones at {at(file['checked_at'])}."
            because, commands = tried, (f"holocron files show {named(file['name'])}",)
        case "pending":
            turn = f"{_before(lake, file)} files of its source come before it"
            says = f"{_REASONS[file['reason']]} It waits for its turn."
            because, commands = (*in_the_way, turn, *tried), (*commands, crawl)
        case "in flight":
            says = "It is in a batch that was cut and is not finished."
            because, commands = in_the_way, (*commands, crawl)
        case "waiting":
            says = f"It failed, and is due again at {at(file['due_at'])}: {file['error']}."
            because, commands = tried, (requeue,)
        case "missing":
            says = "No address gave it: each server says that it has no such file, or no resolver knew one."
            because, commands = tried, (requeue,)
        case "refused":
            says = f"It may not be fetched: {file['error']}."
            because, commands = tried, (requeue,)
        case _:
            says = f"It was given up: {file['error']}."
            because, commands = tried, (requeue,)
    answer = Answer("fetched", says, because, commands)
    return _with_traceback(lake, file, answer) if file["status"] in {"waiting", "dead"} else answer


def _with_traceback(lake: Lake, file: Mapping[str, Any], answer: Answer) -> Answer:
    """The answer about a file that failed, with its traceback, if one was kept."""
    with connect(lake, relations=["tracebacks"]) as connection:
        kept = query(connection, _TRACEBACKS, {"key": file["artifact_key"]})
    return answer.with_tracebacks({"tracebacks": kept}, [FILES.name])


def _before(lake: Lake, file: Mapping[str, Any]) -> int:
    parameters = {"source": file["source"], "position": file["position"]}
    with connect(lake, relations=["file_frontier"]) as connection:
        [before] = query(connection, _BEFORE, parameters)
    return int(before["files"])


def _tried(lake: Lake, key: int) -> tuple[str, ...]:
    """What became of each address in the last attempt."""
    with connect(lake, relations=["file_attempts"]) as connection:
        rows = query(connection, _TRIED, {"key": key})
    return tuple(
        f"resolver {row['resolver']}, {row['url']}: {row['reason']}"
        + (f" ({row['error']})" if row["error"] else "")
        for row in rows
    )
