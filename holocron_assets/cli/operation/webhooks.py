"""`holocron webhooks`: lists the webhooks, tests one, and sends notifications again."""

import sys
import uuid
from typing import Any

import click

from holocron_assets.cli.console import print_rows, terminal, to_json
from holocron_assets.cli.shared import bare_lake, clear_errors, counted, fail, json_option
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.people_settings import SettingsError
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tables import NOTICES
from holocron_assets.lake.views.database import connect, query
from holocron_assets.operations.notifications.delivering import GIVEN_UP_AFTER, deliver, send
from holocron_assets.operations.notifications.notifications import Notice, open_book
from holocron_assets.operations.notifications.webhooks import TEST_EVENT, Webhook, Webhooks, read_webhooks
from holocron_assets.settings import webhooks_file

_PATIENCE_SECONDS = 60.0  # the sensor holds the notifications for less

_STANDING = """
    with numbered as (
        select *, row_number() over (partition by notice_id, webhook order by asked_at desc) = 1 as is_newest
        from lake.notices
        where webhook <> ''
    )
    select
        webhook,
        count(*) filter (is_newest and state = 'pending') as pending,
        count(*) filter (is_newest and state = 'delivered') as delivered,
        count(*) filter (is_newest and state = 'given up') as given_up,
        max(tried_at) as last_sent,
        arg_max_null(error, coalesce(tried_at, asked_at))
            filter (is_newest and (attempts > 0 or error is not null)) as problem
    from numbered
    group by webhook
    order by webhook
"""
"""A notification that is sent again has a new row, so only its newest row counts. `problem` is the error of
the one that was sent last: null if it arrived. Notifications that were not sent yet do not matter."""
_BY_TIME = "from lake.notices where webhook <> '' order by asked_at"


@click.group()
def webhooks() -> None:
    """Tell others of runs, dead letters and alerts: `data/webhooks.yaml` says whom."""


@webhooks.command("list")
@json_option
@clear_errors
def list_webhooks(*, as_json: bool) -> None:
    """List the webhooks, the events that each gets, and how sending went."""
    known = read_webhooks(webhooks_file())
    with connect(bare_lake(), tables=[NOTICES]) as connection:
        standing = {row["webhook"]: row for row in query(connection, _STANDING)}
    rows = [_listed(one, name, standing.get(name, {})) for name, one in known.webhooks.items()]
    rows += [
        _listed(None, name, row)
        for name, row in standing.items()
        if row["pending"] and name not in known.webhooks
    ]
    if as_json:
        click.echo(to_json(rows))
    elif rows:
        print_rows(terminal(), "Webhooks", rows)
    else:
        click.echo(f"There are no webhooks. {webhooks_file()} declares them; see docs/alerts.md.")


@webhooks.command()
@click.argument("name")
@clear_errors
def test(name: str) -> None:
    """Send a notification of event `test` to a webhook now; exit with 1 if it did not arrive."""
    webhook = _named(read_webhooks(webhooks_file()), name)
    now, notice_id = utc_now(), f"test-{uuid.uuid4().hex}"
    content = {"webhook": name, "message": "Holocron can reach this webhook."}
    answer = send(webhook, notice_id, Notice(notice_id, TEST_EVENT, name, now, content).body)
    if answer.error:
        fail(f"{name} was not reached: {answer.error}")
    click.echo(f"{name} was reached: HTTP {answer.status}")


@webhooks.command()
@click.option("--webhook", "name", metavar="NAME", help="Only notifications for this webhook.")
@click.option(
    "--id", "ids", multiple=True, metavar="ID", help="The notification with this id; may be repeated."
)
@click.option("--given-up", is_flag=True, help="Every notification that was given up.")
@clear_errors
def resend(name: str | None, ids: tuple[str, ...], *, given_up: bool) -> None:
    """Send notifications again that were delivered or given up, under their old ids.

    If one does not arrive now, it is tried again as usual while `holocron ui` runs.
    """
    if bool(ids) == given_up:
        raise click.UsageError("name notifications with --id, or take those that were given up: --given-up")
    known, lake = read_webhooks(webhooks_file()), bare_lake()
    if name:
        _named(known, name)
    with open_book(lake, patience_seconds=_PATIENCE_SECONDS) as book:
        with connect(lake, tables=[NOTICES]) as connection:
            newest = {(row["notice_id"], row["webhook"]): row for row in query(connection, _BY_TIME)}
        chosen = [
            row
            for row in newest.values()
            if name in {None, row["webhook"]}
            and row["state"] in ({"delivered", "given up"} if ids else {"given up"})
            and (not ids or row["notice_id"] in ids)
        ]
        if missed := set(ids) - {row["notice_id"] for row in chosen}:
            fail(f"unknown, or still pending: {', '.join(sorted(missed))}; what is pending is sent by itself")
        for row in chosen:
            book.ask_again(row)
        counts = deliver(book, known).values()
    delivered, failed = sum(done for done, _ in counts), sum(missed for _, missed in counts)
    click.echo(f"{counted(len(chosen), 'notification')} asked for; {delivered} delivered, {failed} failed")
    if failed:
        sys.exit(1)


def _listed(one: Webhook | None, name: str, standing: Row) -> dict[str, Any]:
    """The row of a webhook. `one` is None if notifications wait for a webhook that the file does not name."""
    gone = (
        f"{webhooks_file()} does not name it: what waits is sent once the file does, or given up after "
        f"{GIVEN_UP_AFTER.days} days"
    )
    return {
        "webhook": name,
        "url": one and one.url,
        "events": one and ", ".join(one.events),
        "secret": one and _secret_state(one),
        **{state: standing.get(state, 0) for state in ("pending", "delivered", "given_up")},
        "last_sent": standing.get("last_sent"),
        "problem": standing.get("problem") if one else gone,
    }


def _named(known: Webhooks, name: str) -> Webhook:
    if name not in known.webhooks:
        fail(
            f"there is no webhook {name!r} in {webhooks_file()}; there are {sorted(known.webhooks) or 'none'}"
        )
    return known.webhooks[name]


def _secret_state(webhook: Webhook) -> str:
    """Where the secret is, or why it is missing; never the secret itself."""
    try:
        webhook.secret()
    except SettingsError as error:
        return str(error)
    return f"in {webhook.secret_env}"
