"""`holocron`: a table of its commands. The module of a command is imported when the command is called."""

from collections.abc import Mapping

import click

from holocron_assets.cli.on_demand import CommandsOnDemand

COMMANDS: Mapping[str, Mapping[str, str]] = {
    "knowledge.artifacts": {
        "artifacts": "Write out what a model was told about a page the last time, and what it answered.",
    },
    "knowledge.ask": {
        "ask": "Ask INTERROGATION about the page TITLE now, and print the answer.",
    },
    "knowledge.decide": {
        "decide": "Say what a page is, which entities are one, which are to be seen, and which "
        "statements are true.",
    },
    "knowledge.decisions": {
        "decisions": "What people decided.",
    },
    "knowledge.export": {
        "export": "Write the knowledge base as files, with a manifest of what is in them.",
        "hash": "One hash of what is known: the same in every lake that knows the same.",
    },
    "knowledge.page": {
        "page": "Tell everything known about one page: revisions, signals, type and why, entity, "
        "where it is stuck.",
    },
    "knowledge.repeat": {
        "repeat": "Ask the same several times, and compare the answers.",
    },
    "knowledge.review": {
        "review": "Show what machines left open, first what a decision would change most.",
    },
    "knowledge.sql": {
        "sql": "Ask the lake in SQL (DuckDB).",
    },
    "knowledge.why": {
        "why": "Tell why the page TITLE was not fetched yet, or was typed so, or is no entity, or "
        "was not asked about.",
    },
    "work.backfill": {
        "backfill": "Make partitions of ASSET again, in runs that Dagster's daemon starts (`make ui`).",
    },
    "work.control": {
        "controls": "List what is held back, since when, by whom and why, and which priorities people gave.",
        "drain": "Start nothing new of a source or interrogation; finish the batches that were begun.",
        "pause": "Start nothing new of a source or interrogation, and stop what is under way.",
        "prioritize": "Have a source or interrogation come sooner or later: a higher PRIORITY is sooner.",
        "requeue": "Try again now what was given up or failed, however often it was tried.",
        "resume": "Let go on what was paused or drained.",
    },
    "work.dispatch": {
        "dispatch": "Decide which model works next, tell why, and launch its run.",
        "stale": "List what a changed prompt, schema, model or page will have asked again, and what is kept.",
    },
    "work.group": {
        "group": "Run groups of work: commands in sequence, from files in data/groups/.",
    },
    "work.launch": {
        "launch": "Launch a job through Dagster's run queue; a daemon (`make ui`) must be running.",
    },
    "work.models": {
        "models": "Model files and the embedded model server, for those who have no Ollama.",
    },
    "work.run": {
        "crawl": "Fetch what is pending of one source, or given pages whether fetched before or not.",
        "import": "Read a MediaWiki XML export, to promoted entities.",
        "recheck": "Compare every page of a source with its wiki, 50 a request, and fetch what differs.",
        "run": "Do everything there is to do, until nothing is pending.",
    },
    "work.schedules": {
        "schedules": "List what is done by the clock: its cron, time zone and next times.",
    },
    "work.serving": {
        "daemon": "Start Dagster's daemon alone, with the sensors on, until told to end.",
        "ui": "Start Dagster's web UI and daemon, with the sensors on.",
        "webserver": "Start Dagster's web UI alone, until told to end.",
    },
    "work.sources": {
        "sources": "List the sources, and switch them on and off.",
    },
    "work.worker": {
        "worker": "Take runs that the daemon of another machine hands out, until Ctrl-C; those under "
        "way end first.",
    },
    "operation.alerts": {
        "alerts": "Tell which alerts fire, as they were last looked at by `holocron ui`; exit with 1 if "
        "any does.",
    },
    "operation.backup": {
        "backup": "Back up the lake, Dagster's history and the settings into FOLDER, while anything runs.",
        "restore": "Bring the backup in FOLDER back into a data folder that is empty, and verify every "
        "file of it.",
    },
    "operation.graph": {
        "graph": "Draw what each stage requires and produces, and who starts it, from the definitions "
        "as they are.",
    },
    "operation.home": {
        "home": "Prepare Dagster's home and print it, for `export DAGSTER_HOME=$(holocron home)`.",
    },
    "operation.status": {
        "status": "Tell how things stand: what waits where and for how long, how fast it goes, and what "
        "fails, and why.",
    },
    "operation.verify": {
        "verify": "Read every file of the lake against its checksums, and set aside what is damaged.",
    },
    "operation.web": {
        "web": "Review in the browser, until Ctrl-C: the queue, each item with its evidence, and "
        "every entity.",
    },
    "operation.webhooks": {
        "webhooks": "Tell others of runs, dead letters and alerts: `data/webhooks.yaml` says whom.",
    },
}
"""By module below `holocron_assets.cli`: its commands, each with the first sentence of its help."""


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
