"""What people hold back: what counts, that it is said once, and that it survives whatever happens."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holocron_assets.decisions import append_log
from holocron_assets.decisions.controls import (
    ALL,
    DRAIN,
    PAUSE,
    PRIORITIZE,
    RESUME,
    Controls,
    HeldBackError,
    Scope,
    all_controls,
    control,
    refuse_held,
    standing_controls,
)
from holocron_assets.decisions.log import DecisionError
from holocron_assets.lake.files.damage import DamagedPartitionError
from holocron_assets.lake.place import pressure
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import CONTROLS
from holocron_assets.lake.views.database import connect, query

WRITER = Path(__file__).with_name("pause_again_and_again.py")
WIKI, OTHER = Scope("source", "wiki"), Scope("source", "other")
FACTS = Scope("interrogation", "facts")


def say(lake: Lake, action: str, scope: Scope, *, priority: int | None = None) -> Controls:
    control(lake, action, scope, author="ada", reason="I know", priority=priority)
    return standing_controls(lake)


def test_nothing_is_held_back_where_nobody_said_so(tmp_path: Path) -> None:
    assert standing_controls(Lake(tmp_path)) == Controls({}, {})
    assert not standing_controls(Lake(tmp_path)).is_held(source="wiki", interrogation="facts")


def test_a_paused_source_is_held_and_no_other(tmp_path: Path) -> None:
    standing = say(Lake(tmp_path), PAUSE, WIKI)
    assert standing.is_held(source="wiki")
    assert standing.pauses(source="wiki", interrogation="facts")
    assert not standing.is_held(source="other", interrogation="facts")
    assert not standing.is_held()


def test_what_is_drained_starts_nothing_and_stops_nothing(tmp_path: Path) -> None:
    standing = say(Lake(tmp_path), DRAIN, FACTS)
    assert standing.is_held(source="wiki", interrogation="facts")
    assert not standing.pauses(source="wiki", interrogation="facts")


def test_a_full_disk_holds_everything_back_like_a_person_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(tmp_path)
    monkeypatch.setattr(pressure, "MEASURE_SECONDS", 0.0)
    monkeypatch.setenv("HOLOCRON_FREE_GB", "1000000000")
    full = standing_controls(lake).held[ALL]
    assert (full.action, full.author) == (DRAIN, "this machine")
    assert str(full).endswith("(it goes on by itself when there is more room, or writes are faster)")
    with pytest.raises(HeldBackError, match="GB are free on the disk"):
        refuse_held(lake, source="wiki")
    refuse_held(lake, source="wiki", is_begun=True)

    assert control(lake, PAUSE, ALL, author="ada", reason="the disk is replaced"), "a person may say so too"
    assert standing_controls(lake).held[ALL].author == "ada"
    assert control(lake, RESUME, ALL, author="ada", reason="it was")
    assert standing_controls(lake).is_held(), "no command makes room"
    monkeypatch.delenv("HOLOCRON_FREE_GB")
    assert not standing_controls(lake).is_held()


def test_a_drain_by_a_person_does_not_lift_the_stricter_hold_of_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(tmp_path)
    say(lake, DRAIN, ALL)
    monkeypatch.setattr(pressure, "MEASURE_SECONDS", 0.0)
    monkeypatch.setenv("HOLOCRON_FREE_GB", "1000000000")
    full = standing_controls(lake).held[ALL]
    assert full.author == "this machine", "begun work is not started again"
    assert "everything is drained since" in full.resume
    assert "by ada: I know" in full.resume, "the drain counts again later, so it is named"
    monkeypatch.delenv("HOLOCRON_FREE_GB")
    assert standing_controls(lake).held[ALL].author == "ada"


def test_a_pause_of_everything_holds_every_source_and_interrogation(tmp_path: Path) -> None:
    standing = say(Lake(tmp_path), PAUSE, ALL)
    assert standing.pauses()
    assert standing.pauses(source="wiki")
    assert standing.pauses(interrogation="facts")


def test_of_two_holds_the_pause_counts(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    say(lake, DRAIN, ALL)
    standing = say(lake, PAUSE, WIKI)
    assert standing.pauses(source="wiki")
    assert standing.is_held(source="other")
    assert not standing.pauses(source="other")


def test_the_newest_word_about_each_scope_counts(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    say(lake, PAUSE, WIKI)
    say(lake, PAUSE, OTHER)
    assert not say(lake, DRAIN, WIKI).pauses(source="wiki")
    standing = say(lake, RESUME, WIKI)
    assert not standing.is_held(source="wiki")
    assert standing.pauses(source="other")


def test_a_source_that_was_paused_by_itself_stays_so_when_everything_is_resumed(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    say(lake, PAUSE, WIKI)
    say(lake, PAUSE, ALL)
    standing = say(lake, RESUME, ALL)
    assert standing.pauses(source="wiki")
    assert not standing.is_held(source="other")


def test_a_hold_says_who_when_why_and_what_lets_it_go_on(tmp_path: Path) -> None:
    hold = say(Lake(tmp_path), PAUSE, WIKI).pauses(source="wiki")
    assert hold
    assert str(hold) == (
        f"source wiki is paused since {hold.since:%Y-%m-%d %H:%M} UTC by ada: I know "
        "(`holocron resume --source wiki --reason WHY` lets it go on)"
    )
    assert "everything is drained" in str(say(Lake(tmp_path), DRAIN, ALL).holds())


def test_what_stands_already_is_not_said_again(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert control(lake, RESUME, WIKI, author="ada", reason="x") is None
    assert control(lake, PAUSE, WIKI, author="ada", reason="x")
    assert control(lake, PAUSE, WIKI, author="ben", reason="y") is None
    assert control(lake, PRIORITIZE, WIKI, author="ada", reason="x", priority=5)
    assert control(lake, PRIORITIZE, WIKI, author="ben", reason="y", priority=5) is None
    assert [row["author"] for row in all_controls(lake)] == ["ada", "ada"]


def test_a_persons_priority_counts_over_the_declared_one_until_it_is_taken_back(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert standing_controls(lake).priority(FACTS, 100) == 100
    assert say(lake, PRIORITIZE, FACTS, priority=0).priority(FACTS, 100) == 0
    assert say(lake, PAUSE, FACTS).priority(FACTS, 100) == 0
    assert say(lake, PRIORITIZE, FACTS).priority(FACTS, 100) == 100


@pytest.mark.parametrize(
    ("author", "reason"), [("", "x"), ("ada", " "), ("ada\nben", "x"), ("a", "x" * 1001)]
)
def test_a_control_says_readably_who_and_why(tmp_path: Path, author: str, reason: str) -> None:
    with pytest.raises(DecisionError, match=r"a control|the author"):
        control(Lake(tmp_path), PAUSE, WIKI, author=author, reason=reason)
    assert all_controls(Lake(tmp_path)) == []


def test_the_last_word_counts_also_where_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, ahead = Lake(tmp_path), datetime.now(UTC) + timedelta(days=1)
    monkeypatch.setattr(append_log, "utc_now", lambda: ahead)
    say(lake, PAUSE, WIKI)
    monkeypatch.undo()
    assert not say(lake, RESUME, WIKI).is_held(source="wiki")


def test_a_repeated_read_reads_only_what_was_said_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(tmp_path)
    before = say(lake, PAUSE, WIKI)
    monkeypatch.setattr(append_log, "read_partition", None)
    assert standing_controls(Lake(tmp_path)) is before


def test_what_two_processes_say_at_once_is_all_kept(tmp_path: Path) -> None:
    commands = [[sys.executable, str(WRITER), str(tmp_path), author, "5"] for author in ("ada", "ben")]
    writers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]  # noqa: S603 - our own
    assert [writer.wait() for writer in writers] == [0, 0]
    held = standing_controls(Lake(tmp_path)).held
    assert {scope.name for scope in held} == {
        f"{author}_{number}" for author in ("ada", "ben") for number in range(5)
    }


def test_what_was_said_before_a_kill_is_kept(tmp_path: Path) -> None:
    command = [sys.executable, str(WRITER), str(tmp_path), "ada", "1000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:  # noqa: S603 - our own
        assert writer.stdout
        written = [writer.stdout.readline().strip() for _ in range(5)]
        writer.kill()
        written += writer.stdout.read().split()
    held = {scope.name for scope in standing_controls(Lake(tmp_path)).held}
    assert {f"ada_{number}" for number in written} <= held
    assert len(held) <= len(written) + 1


def test_a_damaged_word_is_an_error_and_not_a_resume(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    say(lake, PAUSE, WIKI)
    (name,) = lake.partitions(CONTROLS)
    file = lake.file(CONTROLS, name)
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(DamagedPartitionError, match="Until then nothing is started") as problem:
        standing_controls(Lake(tmp_path))
    assert problem.value.is_for_good


def test_the_view_of_what_is_held_back_says_the_same(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for action, scope in ((PAUSE, WIKI), (DRAIN, OTHER), (PAUSE, FACTS), (RESUME, FACTS), (DRAIN, ALL)):
        say(lake, action, scope)
    say(lake, PRIORITIZE, OTHER, priority=3)
    with connect(lake, tables=[CONTROLS]) as connection:
        rows = query(connection, "from held_back")
    shown = {Scope(row["scope"], row["name"]): (row["action"], row["since"]) for row in rows}
    standing = standing_controls(lake).held
    assert shown == {scope: (hold.action, hold.since) for scope, hold in standing.items()}
    assert shown.keys() == {WIKI, OTHER, ALL}
