"""`holocron dispatch` and `holocron stale`: which model works next and why, and what will be asked again."""

from collections.abc import Iterable, Mapping
from typing import Any

import click

from holocron_assets.cli.console import print_rows, terminal, to_json
from holocron_assets.cli.shared import (
    clear_errors,
    domain_option,
    fail,
    json_option,
    of_domain,
    opened_lake,
)
from holocron_assets.decisions.controls import refuse_full, standing_controls
from holocron_assets.derive.dispatch.backlog import backlog
from holocron_assets.derive.dispatch.plans import Plan, plan
from holocron_assets.derive.dispatch.pools import DispatchSettings, read_dispatch_settings
from holocron_assets.derive.dispatch.served import gpu_holder, is_switched_off, served_by_code, served_models
from holocron_assets.derive.dispatch.standing_controls import StandingControls
from holocron_assets.derive.dispatch.tallies import stale_rows
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.settings import dispatch_file


@click.command()
@click.option("--dry-run", is_flag=True, help="Only show the decision; launch nothing.")
@json_option
@clear_errors
def dispatch(*, dry_run: bool, as_json: bool) -> None:
    """Decide which model works next, tell why, and launch its run.

    The sensor model_dispatch does the same by itself, in the same daemon (`make ui`). In shadow mode nothing
    is launched. --dry-run changes nothing at all. With HOLOCRON_LLM=off, only SQL and code work.
    """
    lake, settings = opened_lake(), read_dispatch_settings(dispatch_file())
    report, plans = _standing(lake, settings)
    _print_report(report, as_json=as_json)
    if dry_run or settings.mode == "shadow" or report["at_work"]:
        return
    refuse_full(lake)
    from holocron_assets.orchestration.model_runs.dispatching import launch_plans

    error = launch_plans(
        plans, load_interrogations(), settings, report=lambda text: click.echo(text, err=as_json)
    )
    if error:
        fail(error)


@click.command()
@json_option
@domain_option
@clear_errors
def stale(*, as_json: bool, domain: str | None) -> None:
    """List what a changed prompt, schema, model or page will have asked again, and what is kept.

    Partitions that were never asked about are only counted; the others are opened one by one. What is not
    enabled is not asked again; it is named, and so are limits that are reached.
    """
    lake, named = opened_lake(), of_domain(domain)
    interrogations = _enabled(named)
    served = served_models(interrogations)
    rows = stale_rows(lake, interrogations, served.digests)
    if as_json:
        click.echo(to_json(rows))
        return
    print_rows(terminal(), "To be asked", [_stale_partition(row) for row in rows])
    if not rows:
        click.echo("Nothing: every answer is what it would be today.")
    for hold in StandingControls(lake).holds_of_files(named):
        click.echo(f"Held back: {hold}.")
    _print_lacking(sorted(served.lacking))


def _standing(lake: Lake, settings: DispatchSettings) -> tuple[dict[str, Any], list[Plan]]:
    """What would be done now: as a report for people and scripts, and as plans to launch."""
    interrogations, now = load_interrogations(), utc_now()
    enabled, controls = _enabled(interrogations), StandingControls(lake)
    served = served_by_code(enabled) if is_switched_off() else served_models(enabled)
    waiting = backlog(lake, interrogations, digests=served.digests, now=now, heed=controls.heeded)
    plans = plan(waiting, settings, served.loaded, now)
    report = {
        "mode": "off" if is_switched_off() and settings.mode == "live" else settings.mode,
        "at": now,
        "at_work": gpu_holder(lake),
        "loaded": sorted(served.loaded),
        "lacking": sorted(served.lacking),
        "held_back": [
            *map(str, standing_controls(lake).held.values()),
            *map(str, controls.holds_of_files(interrogations)),
        ],
        "plans": [{"pool": one.pool, **one.decision.to_json()} for one in plans],
    }
    return report, plans


def _enabled(interrogations: Iterable[Interrogation]) -> list[Interrogation]:
    return [one for one in interrogations if one.enabled]


def _print_report(report: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        click.echo(to_json(report))
        return
    console = terminal()
    if is_switched_off():
        console.print("No model is asked: HOLOCRON_LLM is off.")
    if report["mode"] == "shadow":
        console.print("Shadow mode: what is decided is recorded, and nothing is launched.")
    if report["at_work"]:
        console.print(f"The models of this machine are at work already: {report['at_work']}.")
    for one in report["plans"]:
        console.print(f"Pool {one['pool']}: {' '.join(one['reasons'])}")
        print_rows(console, "Turns", one["turns"])
        print_rows(console, "Scores", [_score(score) for score in one["scores"]])
    for hold in report["held_back"]:
        console.print(f"Held back: {hold}.", markup=False)
    _print_lacking(report["lacking"])


def _print_lacking(models: Iterable[str]) -> None:
    for model in models:
        click.echo(
            f"{model} cannot be asked: the server has not got it. `ollama pull {model}` gets it for an "
            f"Ollama, `holocron models fetch {model}` for the embedded server."
        )


def _score(score: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "interrogation": score["interrogation"],
        "priority": score["effective_priority"],
        "by waiting": score["ageing"],
        "items": score["items"],
        "not begun": score["uncounted"],
        "to complete": score["completions"],
    }


def _stale_partition(row: Mapping[str, Any]) -> dict[str, Any]:
    partition = row["partition"] or f"{row['partitions']} never begun"
    counts = {"to ask": row["to_ask"], "kept": row["kept"], "dead": row["dead"]}
    return {"interrogation": row["interrogation"], "partition": partition, "why": row["why"], **counts}
