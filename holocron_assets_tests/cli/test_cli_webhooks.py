"""`holocron webhooks` as a person uses it, with a real receiver."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import time_machine
from click.testing import CliRunner, Result
from receiver import SECRET_ENV, SECRET_VALUE, Receiver, answering, webhooks_yaml

from holocron_assets.cli.main import main
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.notifications.delivering import deliver
from holocron_assets.operations.notifications.notifications import Notice, open_book
from holocron_assets.operations.notifications.webhooks import read_webhooks


@pytest.fixture
def receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A receiver of the webhook `team`, and a data folder of our own."""
    with Receiver() as one:
        file = webhooks_yaml(tmp_path / "webhooks.yaml", team=one.url)
        monkeypatch.setenv("HOLOCRON_WEBHOOKS", str(file))
        monkeypatch.setenv("HOLOCRON_DATA", str(tmp_path / "data"))
        monkeypatch.setenv("HOLOCRON_STATE", str(tmp_path / "state"))
        monkeypatch.setenv(SECRET_ENV, SECRET_VALUE)
        yield one


def webhooks(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["webhooks", *arguments])


def standing() -> tuple[object, ...]:
    """What the list says of the only webhook."""
    (row,) = json.loads(webhooks("list", "--json").output)
    return tuple(row[name] for name in ("webhook", "pending", "delivered", "given_up", "problem"))


def note_and_deliver(tmp_path: Path, *ids: str) -> None:
    """Note ends of runs, and send what is due."""
    known = read_webhooks(tmp_path / "webhooks.yaml")
    with open_book(Lake(tmp_path / "data"), patience_seconds=0) as book:
        book.note((Notice(one, "run.failure", "a run", utc_now(), {"run_id": one}) for one in ids), known)
        deliver(book, known)


def test_list_shows_each_webhook_with_its_deliveries_and_no_secret(
    receiver: Receiver, tmp_path: Path
) -> None:
    note_and_deliver(tmp_path, "run-1")
    receiver.behave = answering(503)
    note_and_deliver(tmp_path, "run-2")
    listed = webhooks("list", "--json")
    (row,) = json.loads(listed.output)
    assert (row["webhook"], row["url"]) == ("team", receiver.url)
    assert (row["delivered"], row["pending"], row["given_up"]) == (1, 1, 0)
    assert row["problem"] == "HTTP 503"
    assert row["secret"] == f"in {SECRET_ENV}"
    assert SECRET_VALUE not in listed.output + webhooks("list").output


def test_list_shows_a_problem_until_something_arrives(receiver: Receiver, tmp_path: Path) -> None:
    receiver.behave = answering(422)  # of this notice alone: it does not hold the others
    note_and_deliver(tmp_path, "run-1")
    known = read_webhooks(tmp_path / "webhooks.yaml")
    with open_book(Lake(tmp_path / "data"), patience_seconds=0) as book:
        book.note([Notice("run-2", "run.failure", "a run", utc_now(), {"run_id": "run-2"})], known)
    assert standing() == ("team", 2, 0, 0, "HTTP 422")
    receiver.behave = answering(204)
    note_and_deliver(tmp_path)
    assert standing() == ("team", 1, 1, 0, None)


def test_list_forgets_what_was_given_up_once_it_was_sent_again(receiver: Receiver, tmp_path: Path) -> None:
    receiver.behave = answering(503)
    with time_machine.travel(utc_now() - timedelta(days=4)) as clock:
        note_and_deliver(tmp_path, "run-1", "run-2")
        clock.shift(timedelta(days=3))
        for _ in range(4):
            clock.shift(601)
            note_and_deliver(tmp_path)
    assert standing() == ("team", 0, 0, 2, "not delivered within 3 days; at last: HTTP 503")
    receiver.behave = answering(204)
    assert webhooks("resend", "--given-up").exit_code == 0
    assert standing() == ("team", 0, 2, 0, None)
    assert "0 notifications asked for" in webhooks("resend", "--given-up").output


def test_resend_leaves_alone_what_is_asked_for_and_not_delivered_yet(
    receiver: Receiver, tmp_path: Path
) -> None:
    note_and_deliver(tmp_path, "run-1")
    receiver.behave = answering(503)
    assert webhooks("resend", "--id", "run-1").exit_code == 1
    assert standing() == ("team", 1, 0, 0, "HTTP 503")
    assert "unknown, or still pending: run-1" in webhooks("resend", "--id", "run-1").output


def test_list_says_why_notices_wait_for_a_webhook_that_the_file_does_not_name(
    receiver: Receiver, tmp_path: Path
) -> None:
    file = tmp_path / "webhooks.yaml"
    note_and_deliver(tmp_path, "run-1")
    receiver.behave = answering(503)
    note_and_deliver(tmp_path, "run-2")
    written = file.read_text(encoding="utf-8")
    file.write_text("webhooks: {}\n", encoding="utf-8")
    why = f"{file} does not name it: what waits is sent once the file does, or given up after 3 days"
    assert standing() == ("team", 1, 1, 0, why)
    assert "does not name it" in " ".join(webhooks("list").output.split())
    file.write_text(written, encoding="utf-8")
    assert standing() == ("team", 1, 1, 0, "HTTP 503")


def test_list_says_where_to_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLOCRON_WEBHOOKS", str(tmp_path / "none.yaml"))
    monkeypatch.setenv("HOLOCRON_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOLOCRON_STATE", str(tmp_path / "state"))
    result = webhooks("list")
    assert result.exit_code == 0
    assert "There are no webhooks" in result.output


def test_test_sends_a_signed_notice_and_exits_as_it_went(receiver: Receiver) -> None:
    result = webhooks("test", "team")
    assert (result.exit_code, result.output) == (0, "team was reached: HTTP 204\n")
    (arrived,) = receiver.received
    assert arrived.is_signed
    assert arrived.body["type"] == "test"
    receiver.behave = answering(401)
    refused = webhooks("test", "team")
    assert refused.exit_code == 1
    assert "team was not reached: HTTP 401" in refused.output


def test_resend_sends_again_under_the_old_id(receiver: Receiver, tmp_path: Path) -> None:
    note_and_deliver(tmp_path, "run-1", "run-2")
    result = webhooks("resend", "--id", "run-2")
    assert (result.exit_code, result.output) == (0, "1 notification asked for; 1 delivered, 0 failed\n")
    assert receiver.ids.count("run-2") == 2
    receiver.behave = answering(503)
    failed = webhooks("resend", "--webhook", "team", "--id", "run-1")
    assert failed.exit_code == 1
    assert "1 notification asked for; 0 delivered, 1 failed" in failed.output


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("test", "nobody"), "there is no webhook 'nobody'"),
        (("resend", "--id", "run-9"), "unknown, or still pending: run-9"),
        (("resend",), "name notifications with --id"),
        (("resend", "--given-up", "--webhook", "nobody"), "there is no webhook 'nobody'"),
    ],
)
def test_an_order_that_cannot_be_done_is_reported(
    receiver: Receiver, arguments: tuple[str, ...], why: str
) -> None:
    result = webhooks(*arguments)
    assert result.exit_code in {1, 2}
    assert why in result.output
    assert receiver.received == []
