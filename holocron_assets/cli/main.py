"""`holocron`: a table of its commands. The module of a command is imported when the command is called."""

import atexit
import os
import sys
from collections.abc import Mapping

import click

from holocron_assets.cli.on_demand import CommandsOnDemand

COMMANDS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "What is known": {
        "knowledge.answer": {"answer": "Answer a question with quotes, or refuse."},
        "knowledge.artifacts": {"artifacts": "Write out what a model last read and answered about a page."},
        "knowledge.ask": {"ask": "Ask an interrogation about one page now."},
        "knowledge.export": {
            "export": "Write the knowledge base as files, with a manifest.",
            "hash": "Print one hash of all that is known, or compare two lakes.",
        },
        "knowledge.files": {"files": "List, show, open, verify and add files."},
        "knowledge.page": {"page": "Show everything that is known about one page."},
        "knowledge.repeat": {"repeat": "Ask the same several times, and compare the answers."},
        "knowledge.trial": {"try": "Try a changed interrogation on a sample, and judge it."},
        "knowledge.search": {"search": "Find passages by names, words and meaning."},
        "knowledge.sql": {"sql": "Ask the lake in SQL (DuckDB)."},
        "knowledge.why": {"why": "Explain why a page has its type, no entity or no answer."},
    },
    "Decisions of people": {
        "people.decide": {"decide": "Decide on a page, a merge, an entity or a statement."},
        "people.decisions": {"decisions": "List decisions, and export and import them."},
        "people.review": {"review": "List what machines left open, and decide it."},
        "operation.web": {"web": "Serve the review pages for the browser."},
    },
    "Work": {
        "work.backfill": {"backfill": "Make partitions of an asset again."},
        "work.run": {
            "crawl": "Fetch the pending pages of one source, or given pages.",
            "import": "Read a MediaWiki XML export, to promoted entities.",
            "recheck": "Compare every page of a source with its wiki.",
            "run": "Do all work that is due: crawl, types, entities, questions.",
        },
        "work.dispatch": {
            "dispatch": "Decide which model works next, and launch its run.",
            "stale": "List what models would be asked again, and why.",
        },
        "work.group": {"group": "Run groups of commands, from files in data/groups/."},
        "work.launch": {"launch": "Launch a job through Dagster's run queue."},
        "work.schedules": {"schedules": "List the schedules with their next times."},
        "work.sources": {"sources": "List the sources, and switch them on and off."},
    },
    "Control": {
        "work.control": {
            "controls": "List what is held back, and the priorities that people gave.",
            "drain": "Finish what was begun, and start nothing new.",
            "pause": "Stop what is under way, and start nothing new.",
            "prioritize": "Let a source or interrogation come sooner or later.",
            "requeue": "Try again what was given up or failed.",
            "resume": "Let work go on that was paused or drained.",
        },
    },
    "Operation": {
        "operation.alerts": {"alerts": "List the alerts that fire; exit with 1 if any does."},
        "operation.backup": {
            "backup": "Back up the lake, Dagster's history and the settings.",
            "restore": "Restore a backup into an empty data folder.",
        },
        "operation.graph": {"graph": "Draw what each stage requires, and what starts it."},
        "operation.home": {"home": "Prepare Dagster's home, and print its folder."},
        "operation.status": {"status": "Show what waits, how fast it goes, and what fails and why."},
        "operation.verify": {"verify": "Check every file of the lake against its checksums."},
        "operation.webhooks": {"webhooks": "List and test webhooks, and send notifications again."},
    },
    "Services": {
        "operation.mcp": {"mcp": "Answer assistants by the Model Context Protocol."},
        "work.serving": {
            "daemon": "Start Dagster's daemon alone, with the sensors on.",
            "ui": "Start Dagster's web UI and daemon, with the sensors on.",
            "webserver": "Start Dagster's web UI alone.",
        },
        "work.models": {"models": "List, fetch and serve model files, without Ollama."},
        "work.worker": {"worker": "Take runs from the daemon of another machine."},
    },
}
"""By heading and by module below `holocron_assets.cli`: the commands, each with a summary in one line."""


@click.group(
    cls=CommandsOnDemand,
    package="holocron_assets.cli",
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="holocron-assets")
def main() -> None:
    """Turn a wiki into a knowledge base that people can trust.

    HOLOCRON_DATA moves the data folder, HOLOCRON_SOURCES the folder of source files.
    """
    # Logs and traces take a fifth of a second to import. `--help` does without them.
    from holocron_assets.telemetry.errors import ObserveError
    from holocron_assets.telemetry.setup import observe_process

    try:
        observe_process()
    except ObserveError as error:
        raise click.UsageError(str(error)) from error


def program() -> None:
    """The program `holocron`: a command in a process of its own.

    At the end of a process, Python frees each module that it imported. With Dagster's, that takes a second
    of CPU, and the operating system does it anyway. So the process ends when what modules registered to be
    done at exit is done. This module must import none that registers something: it would be left out.
    """
    codes: list[int] = []
    atexit.register(_leave, codes)  # what is registered first is called last
    try:
        main()
    except SystemExit as ended:
        if isinstance(ended.code, int):
            codes.append(ended.code)
        raise


def _leave(codes: list[int]) -> None:
    """End the process with its exit code. If there is none, or output cannot be written, Python ends it."""
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except (OSError, ValueError):
        return
    if codes:
        os._exit(codes[0])
