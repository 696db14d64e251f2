"""`holocron alerts`: the alerts that fire."""

import sys

import click

from holocron_assets.cli.console import print_rows, terminal, to_json
from holocron_assets.cli.shared import bare_lake, clear_errors, json_option
from holocron_assets.operations.notifications.alert_rules import read_alert_rules
from holocron_assets.operations.notifications.alerts import firing, standing_alerts
from holocron_assets.settings import alerts_file

_SHOWN = ("rule", "subject", "state", "message", "fired_at", "resolved_at")


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also alerts that are over.")
@json_option
@clear_errors
def alerts(*, everything: bool, as_json: bool) -> None:
    """List the alerts that fire, as a daemon (`holocron ui`) last checked them; exit with 1 if any does.

    This checks nothing itself: where no daemon has run, it finds nothing wrong.
    """
    read_alert_rules(alerts_file())  # fails if the rules are wrong: their alerts may be wrong too
    lake = bare_lake()
    rows = [
        {name: row.get(name) for name in _SHOWN}
        for row in (standing_alerts(lake) if everything else firing(lake))
    ]
    if as_json:
        click.echo(to_json(rows))
    elif rows:
        print_rows(terminal(), "Alerts", rows)
    else:
        click.echo("No alert fires.")
    if any(row["state"] == "firing" for row in rows):
        sys.exit(1)
