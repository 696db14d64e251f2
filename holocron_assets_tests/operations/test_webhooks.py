"""Webhooks: at least once, signed, later and later, none holding the others; whatever the receivers do."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from time import monotonic

import pytest
import time_machine
from receiver import SECRET_ENV, SECRET_VALUE, Receiver, answering, hanging_up, webhooks_yaml

from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.people_settings import SettingsError
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import NOTICES
from holocron_assets.lake.views.database import connect, query
from holocron_assets.operations.notifications.delivering import deliver, send
from holocron_assets.operations.notifications.notifications import Notice, open_book
from holocron_assets.operations.notifications.webhooks import Webhook, Webhooks, read_webhooks

pytestmark = pytest.mark.system

NOTE_AND_DIE = Path(__file__).with_name("notify_and_die.py")


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET_ENV, SECRET_VALUE)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as one:
        yield one


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "data")


def notice(name: str, event: str = "run.failure") -> Notice:
    return Notice(name, event, f"about {name}", utc_now(), {"run_id": name})


def note_and_deliver(lake: Lake, webhooks: Webhooks, *notices: Notice) -> dict[str, tuple[int, int]]:
    with open_book(lake, patience_seconds=0) as book:
        book.note(notices, webhooks)
        return dict(deliver(book, webhooks))


def rows(lake: Lake) -> list[Row]:
    with connect(lake, tables=[NOTICES]) as connection:
        return [*query(connection, "from lake.notices order by notice_id, webhook, asked_at")]


def file_of(tmp_path: Path, **hooks: str) -> Webhooks:
    return read_webhooks(webhooks_yaml(tmp_path / "webhooks.yaml", **hooks))


def test_what_happened_arrives_once_signed_and_with_its_id(
    lake: Lake, tmp_path: Path, receiver: Receiver
) -> None:
    webhooks = file_of(tmp_path, team=receiver.url)
    assert note_and_deliver(lake, webhooks, notice("run-1")) == {"team": (1, 0)}
    assert note_and_deliver(lake, webhooks, notice("run-1")) == {}
    (arrived,) = receiver.received
    assert arrived.is_signed
    assert arrived.notice_id == "run-1"
    assert arrived.body["type"] == "run.failure"
    assert arrived.body["data"] == {"run_id": "run-1"}
    assert [(row["state"], row["attempts"], row["status"]) for row in rows(lake)] == [("delivered", 1, 204)]


def test_only_webhooks_that_want_an_event_are_notified_and_others_are_noted(
    lake: Lake, tmp_path: Path, receiver: Receiver
) -> None:
    webhooks = file_of(tmp_path, ends=f"url: {receiver.url}\nevents: [run.success]", others=receiver.url)
    note_and_deliver(lake, webhooks, notice("good", "run.success"), notice("bad"))
    assert sorted(receiver.ids) == ["bad", "good"]
    assert {row["notice_id"]: row["webhook"] for row in rows(lake)} == {"good": "ends", "bad": "others"}
    note_and_deliver(lake, Webhooks(), notice("unheard"))
    assert (
        note_and_deliver(lake, webhooks, notice("unheard")) == {}
    )  # a webhook that comes later does not get it
    assert rows(lake)[-1]["state"] == "noted"


@pytest.mark.parametrize("status", [301, 404, 503])
def test_an_answer_that_is_no_success_is_tried_again_with_the_same_id(
    lake: Lake, tmp_path: Path, receiver: Receiver, status: int
) -> None:
    webhooks = file_of(tmp_path, team=receiver.url)
    receiver.behave = answering(status, Location=f"{receiver.url}/elsewhere")
    with time_machine.travel(utc_now(), tick=True) as clock:
        assert note_and_deliver(lake, webhooks, notice("run-1")) == {"team": (0, 1)}
        for seconds, sent in ((20, 1), (11, 2), (100, 2), (21, 3), (590, 3), (11, 4), (590, 4), (11, 5)):
            clock.shift(seconds)
            note_and_deliver(lake, webhooks)
            assert len(receiver.received) == sent, f"after {seconds} s"
        receiver.behave = answering(200)
        clock.shift(601)
        assert note_and_deliver(lake, webhooks) == {"team": (1, 0)}
    assert set(receiver.ids) == {"run-1"}
    assert all(one.is_signed for one in receiver.received[:1])


def test_a_receiver_that_is_down_is_asked_for_little_and_gets_all_when_it_is_back(
    lake: Lake, tmp_path: Path, receiver: Receiver
) -> None:
    webhooks = file_of(tmp_path, team=receiver.url)
    receiver.behave = hanging_up
    names = [f"run-{number}" for number in range(50)]
    with time_machine.travel(utc_now(), tick=True) as clock:
        note_and_deliver(lake, webhooks, *map(notice, names))
        for _ in range(40):  # 20 minutes
            clock.shift(30)
            note_and_deliver(lake, webhooks)
        assert 4 <= len(receiver.received) <= 6
        receiver.behave = answering(204)
        receiver.received.clear()
        clock.shift(601)
        note_and_deliver(lake, webhooks)
    assert sorted(receiver.ids) == sorted(names)


def test_a_notice_that_is_refused_does_not_hold_the_others(
    lake: Lake, tmp_path: Path, receiver: Receiver
) -> None:
    def refuse_one(handler: object) -> None:
        answering(422 if receiver.ids[-1] == "poison" else 204)(handler)  # type: ignore[arg-type]

    receiver.behave = refuse_one
    webhooks = file_of(tmp_path, team=receiver.url)
    assert note_and_deliver(lake, webhooks, notice("poison"), notice("a"), notice("b")) == {"team": (2, 1)}
    assert note_and_deliver(lake, webhooks, notice("c")) == {"team": (1, 0)}


def test_a_receiver_that_hangs_does_not_hold_the_others(
    lake: Lake, tmp_path: Path, receiver: Receiver
) -> None:
    receiver.behave = receiver.hang
    with Receiver() as well:
        webhooks = file_of(tmp_path, stuck=f"url: {receiver.url}\ntimeout_seconds: 1", well=well.url)
        started = monotonic()
        counts = note_and_deliver(lake, webhooks, *(notice(f"run-{number}") for number in range(20)))
        assert monotonic() - started < 10
    assert counts == {"stuck": (0, 1), "well": (20, 0)}
    assert max(one.arrived_at for one in well.received) - receiver.received[0].arrived_at < 1


def test_nothing_more_is_sent_when_its_time_is_over(lake: Lake, tmp_path: Path, receiver: Receiver) -> None:
    webhooks = file_of(tmp_path, team=receiver.url)
    with open_book(lake, patience_seconds=0) as book:
        book.note([notice("run-1"), notice("run-2")], webhooks)
        assert deliver(book, webhooks, seconds=-1) == {"team": (0, 0)}
        assert deliver(book, webhooks) == {"team": (2, 0)}


def test_after_three_days_and_four_tries_it_is_given_up_and_a_person_can_have_it_sent_again(
    lake: Lake, tmp_path: Path, receiver: Receiver
) -> None:
    webhooks = file_of(tmp_path, team=receiver.url)
    receiver.behave = answering(500)
    with time_machine.travel(utc_now(), tick=True) as clock:
        note_and_deliver(lake, webhooks, notice("run-1"))
        clock.shift(timedelta(days=3, seconds=1))
        for _ in range(4):
            assert [row["state"] for row in rows(lake)] == ["pending"]
            note_and_deliver(lake, webhooks)
            clock.shift(601)
        (row,) = rows(lake)
        assert (row["state"], row["error"]) == (
            "given up",
            "not delivered within 3 days; at last: HTTP 500",
        )
        receiver.behave = answering(204)
        with open_book(lake, patience_seconds=0) as book:
            book.ask_again(row)
            assert deliver(book, webhooks) == {"team": (1, 0)}
    assert receiver.ids == ["run-1"] * 6
    assert [row["state"] for row in rows(lake)] == ["given up", "delivered"]


def test_what_waited_while_the_machine_was_off_is_sent_though_the_receiver_starts_after_it(
    lake: Lake, tmp_path: Path, receiver: Receiver
) -> None:
    webhooks = file_of(tmp_path, team=receiver.url)
    names = [f"run-{number}" for number in range(5)]
    with time_machine.travel(utc_now(), tick=True) as clock:
        with open_book(lake, patience_seconds=0) as book:
            book.note(map(notice, names), webhooks)
        clock.shift(timedelta(days=4))
        receiver.behave = hanging_up
        for _ in range(3):
            assert note_and_deliver(lake, webhooks) == {"team": (0, 1)}
            clock.shift(601)
        receiver.behave = answering(204)
        receiver.received.clear()
        assert note_and_deliver(lake, webhooks) == {"team": (5, 0)}
    assert sorted(receiver.ids) == names


def test_four_tries_of_a_receiver_that_stays_down_are_enough_for_all_that_is_late(
    lake: Lake, tmp_path: Path, receiver: Receiver
) -> None:
    webhooks = file_of(tmp_path, team=receiver.url)
    receiver.behave = answering(503)
    with time_machine.travel(utc_now(), tick=True) as clock:
        with open_book(lake, patience_seconds=0) as book:
            book.note([notice(f"run-{number}") for number in range(20)], webhooks)
        clock.shift(timedelta(days=4))
        for _ in range(4):
            note_and_deliver(lake, webhooks, notice("new"))
            clock.shift(601)
    assert len(receiver.received) == 4
    assert {row["notice_id"]: row["state"] for row in rows(lake)} == {
        "new": "pending",
        **{f"run-{number}": "given up" for number in range(20)},
    }
    assert {row["error"] for row in rows(lake) if row["notice_id"] != "new"} == {
        "not delivered within 3 days; at last: HTTP 503"
    }


def test_what_is_for_a_webhook_that_is_gone_waits_until_it_is_back(
    lake: Lake, tmp_path: Path, receiver: Receiver
) -> None:
    webhooks = file_of(tmp_path, team=receiver.url)
    with open_book(lake, patience_seconds=0) as book:
        book.note([notice("run-1")], webhooks)
        assert deliver(book, Webhooks()) == {}
    assert [row["state"] for row in rows(lake)] == ["pending"]
    assert note_and_deliver(lake, webhooks) == {"team": (1, 0)}
    assert receiver.ids == ["run-1"]


def test_what_is_for_a_webhook_that_stays_away_is_given_up_after_three_days(
    lake: Lake, tmp_path: Path, receiver: Receiver
) -> None:
    with time_machine.travel(utc_now(), tick=True) as clock:
        with open_book(lake, patience_seconds=0) as book:
            book.note([notice("run-1")], file_of(tmp_path, team=receiver.url))
        clock.shift(timedelta(days=3, seconds=-30))
        note_and_deliver(lake, Webhooks())
        assert [row["state"] for row in rows(lake)] == ["pending"]
        clock.shift(timedelta(minutes=1))
        note_and_deliver(lake, Webhooks())
    assert [(row["state"], row["error"]) for row in rows(lake)] == [
        ("given up", "not delivered within 3 days; at last: there is no such webhook any more")
    ]


@pytest.mark.parametrize("moment", ["noted", "sent"])
def test_a_kill_between_sending_and_noting_sends_it_again_under_the_same_id(
    lake: Lake, tmp_path: Path, receiver: Receiver, moment: str
) -> None:
    file = webhooks_yaml(tmp_path / "webhooks.yaml", team=receiver.url)
    ended = subprocess.run(  # noqa: S603 - our own file
        [sys.executable, NOTE_AND_DIE, lake.root, file, moment], check=False, capture_output=True
    )
    assert ended.returncode == -9, ended.stderr.decode()
    assert receiver.ids == ([] if moment == "noted" else ["run-1"])
    note_and_deliver(lake, read_webhooks(file))
    assert receiver.ids == (["run-1"] if moment == "noted" else ["run-1", "run-1"])
    assert [row["state"] for row in rows(lake)] == ["delivered"]
    assert note_and_deliver(lake, read_webhooks(file), notice("run-1")) == {}


def test_a_missing_or_weak_secret_is_reported_and_nothing_is_sent(
    lake: Lake, tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhooks = file_of(tmp_path, team=receiver.url)
    monkeypatch.setenv(SECRET_ENV, "whsec_c2hvcnQ=")
    note_and_deliver(lake, webhooks, notice("run-1"))
    monkeypatch.delenv(SECRET_ENV)
    note_and_deliver(lake, webhooks, notice("run-2"))
    assert receiver.received == []
    assert [row["error"] for row in rows(lake)] == [
        f"the environment variable {SECRET_ENV} must hold whsec_ and 24 to 64 bytes in base64",
        None,  # the webhook is left alone for half a minute
    ]


def test_whatever_sending_raises_is_a_try_in_vain_and_holds_nobody_else(
    lake: Lake, tmp_path: Path, receiver: Receiver
) -> None:
    webhooks = file_of(tmp_path, bad=receiver.url, team=receiver.url)
    bad = webhooks.webhooks["bad"].model_copy(update={"url": "http://127.0.0.1:99999/x"})  # nobody reads it
    webhooks = webhooks.model_copy(update={"webhooks": {**webhooks.webhooks, "bad": bad}})
    assert note_and_deliver(lake, webhooks, notice("run-1")) == {"bad": (0, 1), "team": (1, 0)}
    failed, delivered = rows(lake)
    assert (failed["attempts"], failed["error"]) == (1, "OverflowError: connect(): port must be 0-65535.")
    assert delivered["state"] == "delivered"


def test_private_addresses_are_notified_only_where_the_file_allows_it(receiver: Receiver) -> None:
    webhook = Webhook(url=receiver.url.replace("http:", "https:"), secret_env=SECRET_ENV)
    answer = send(webhook, "run-1", "{}")
    assert answer.error is not None
    assert "is a loopback address" in answer.error
    assert "private: true" in answer.error
    assert receiver.received == []


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("url: ftp://host/x", "must be like https://host/path"),
        ("url: http://127.0.0.1:99999/x", "with a port from 1 to 65535"),
        ("url: https://host:0/x", "with a port from 1 to 65535"),
        ("url: https://host:hunter22/x", "with a port from 1 to 65535"),
        ("url: https://[hunter22]/x", "must be like https://host/path"),
        ("url: https://xn--a.example/x", "must be like https://host/path"),
        ("url: https://user:hunter22@host/x", "must hold no user, password, query or fragment"),
        ("url: https://host/x?key=hunter22", "must hold no user, password, query or fragment"),
        ("url: http://host/x\nprivate: false", "must be https://"),
        ("url: https://host\nevents: [run.end]", "webhooks.team.events.0"),
        ("url: https://host\nevents: []", "webhooks.team.events"),
        (
            "url: https://host\nsecret: hunter22",
            "webhooks.team.secret: is no known key; did you mean 'secret_env'?; allowed are url, ",
        ),
        ("url: https://host\nsecret_env: hunter22", "webhooks.team.secret_env"),
        ("url: https://host\ntimeout_seconds: 30", "less than or equal to 20"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_why_and_repeats_no_value(
    tmp_path: Path, said: str, why: str
) -> None:
    given = dict(line.split(": ", 1) for line in said.splitlines())
    lines = {"secret_env": SECRET_ENV, "private": "true", **given}
    file = tmp_path / "webhooks.yaml"
    file.write_text("webhooks:\n  team:\n" + "".join(f"    {k}: {v}\n" for k, v in lines.items()))
    with pytest.raises(SettingsError) as error:
        read_webhooks(file)
    assert str(file) in str(error.value)
    assert why in str(error.value)
    assert str(error.value).count("webhooks.team") == 1
    assert "hunter22" not in str(error.value)


def test_without_a_file_nobody_is_notified(lake: Lake, tmp_path: Path) -> None:
    webhooks = read_webhooks(tmp_path / "none.yaml")
    assert note_and_deliver(lake, webhooks, notice("run-1")) == {}
    assert [row["state"] for row in rows(lake)] == ["noted"]
