"""The record of HTTP requests: each one once, whatever is killed."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import patch

import pytest
from crawl_rows import LONG_AGO

from holocron_assets.crawl.http import log as http_log
from holocron_assets.crawl.http.log import HttpLog
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import HTTP_ATTEMPTS

SCOPE = "wiki-000001"
PROGRAM = Path(__file__).with_name("log_and_die.py")


def attempt(name: str) -> dict[str, Any]:
    """A row of table `http_attempts`."""
    return {
        "attempt_id": name,
        "source": "wiki",
        "scope": SCOPE,
        "host": "127.0.0.1:80",
        "verb": "GET",
        "url": "http://127.0.0.1/api.php",
        "titles": 50,
        "attempt": 1,
        "started_at": LONG_AGO,
        "status": None,
        "outcome": "network_error",
        "latency_ms": 1.5,
        "bytes": 0,
        "limiter_wait_s": 0.0,
        "held_s": 0.0,
        "retry_wait_s": 1.0,
        "error": "no answer",
        "pace": 1.0,
        "breaker": "closed",
        "decision": "held for 1.0 s: no whole answer comes",
        "reason": None,
        "resolver": None,
    }


def stored(lake: Lake) -> list[str]:
    return [row["attempt_id"] for row in read_partition(lake, HTTP_ATTEMPTS, SCOPE)]


def log_and_die(folder: Path, scope: str, *names: str) -> None:
    """Record requests in a process that is killed."""
    command = [sys.executable, str(PROGRAM), str(folder), scope, *names]
    killed = subprocess.run(command, timeout=60, check=False)  # noqa: S603 - our own program
    assert killed.returncode == -9


def test_rows_are_stored_as_recorded_and_later_ones_added(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with HttpLog(lake, SCOPE) as log:
        log.record(attempt("one"))
    assert read_partition(lake, HTTP_ATTEMPTS, SCOPE) == [attempt("one")]
    with HttpLog(lake, SCOPE) as log:
        log.record(attempt("two"))
        log.record(attempt("three"))
    assert stored(lake) == ["one", "two", "three"]
    assert not lake.journal(HTTP_ATTEMPTS, SCOPE).exists()


def test_rows_that_an_earlier_version_stored_are_kept(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    new = ("held_s", "pace", "breaker", "decision")
    earlier = {name: value for name, value in attempt("one").items() if name not in new}
    old_table = replace(HTTP_ATTEMPTS, columns=tuple(c for c in HTTP_ATTEMPTS.columns if c.name not in new))
    write_partition(lake, old_table, SCOPE, [earlier])
    with HttpLog(lake, SCOPE) as log:
        log.record(attempt("two"))
    assert read_partition(lake, HTTP_ATTEMPTS, SCOPE) == [{**earlier, **dict.fromkeys(new)}, attempt("two")]


def test_without_requests_nothing_is_written(tmp_path: Path) -> None:
    with HttpLog(Lake(tmp_path), SCOPE):
        pass
    assert not Lake(tmp_path).has(HTTP_ATTEMPTS, SCOPE)


def test_rows_of_a_run_that_failed_are_stored(tmp_path: Path) -> None:
    with suppress(RuntimeError), HttpLog(Lake(tmp_path), SCOPE) as log:
        log.record(attempt("one"))
        raise RuntimeError("the wiki is down")
    assert stored(Lake(tmp_path)) == ["one"]


@pytest.mark.system
def test_rows_of_killed_runs_are_stored_once_by_the_next(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for names in (["one", "two"], ["three"]):
        log_and_die(tmp_path, SCOPE, *names)
    assert not lake.has(HTTP_ATTEMPTS, SCOPE)
    with HttpLog(lake, SCOPE) as log:
        log.record(attempt("four"))
    assert stored(lake) == ["one", "two", "three", "four"]


@pytest.mark.system
def test_rows_that_a_killed_reading_left_yesterday_are_stored_by_the_next_of_its_kind(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    scopes = ("wiki-changes-20261120", "wiki-recheck-20261120", "other-wiki-changes-20261120")
    for scope in scopes:
        log_and_die(tmp_path, scope, "one")
    with HttpLog(lake, "wiki-changes-20261121"):
        assert lake.partitions(HTTP_ATTEMPTS) == ["wiki-changes-20261120"]
    left = [scope for scope in scopes if lake.journal(HTTP_ATTEMPTS, scope).exists()]
    assert left == ["wiki-recheck-20261120", "other-wiki-changes-20261120"]


def test_a_log_of_yesterday_that_is_still_being_written_is_left_to_its_writer(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with HttpLog(lake, "wiki-changes-20261120") as yesterday:
        yesterday.record(attempt("one"))
        with HttpLog(lake, "wiki-changes-20261121"):
            assert lake.journal(HTTP_ATTEMPTS, "wiki-changes-20261120").exists()
        yesterday.record(attempt("two"))
    rows = read_partition(lake, HTTP_ATTEMPTS, "wiki-changes-20261120")
    assert [row["attempt_id"] for row in rows] == ["one", "two"]


def test_a_kill_between_storing_and_forgetting_doubles_no_row(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with HttpLog(lake, SCOPE) as log:
        log.record(attempt("one"))
        journal = lake.journal(HTTP_ATTEMPTS, SCOPE)
        as_it_was = journal.read_bytes()
    journal.write_bytes(as_it_was)
    with HttpLog(lake, SCOPE) as log:
        log.record(attempt("two"))
    assert stored(lake) == ["one", "two"]


def test_when_storing_fails_the_journal_stays_and_the_next_run_is_not_locked_out(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with (
        patch.object(http_log, "write_partition", side_effect=OSError("disk full")),
        pytest.raises(OSError, match="disk full"),
        HttpLog(lake, SCOPE) as log,
    ):
        log.record(attempt("one"))
    with HttpLog(lake, SCOPE):
        pass
    assert stored(lake) == ["one"]


def test_threads_may_record_at_once(tmp_path: Path) -> None:
    names = [f"{number:03}" for number in range(100)]
    with HttpLog(Lake(tmp_path), SCOPE) as log, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: log.record(attempt(name)), names))
    assert sorted(stored(Lake(tmp_path))) == names


def test_a_second_run_of_the_scope_waits_until_the_first_has_stored_its_rows(tmp_path: Path) -> None:
    first_is_in, entered = Event(), []

    def second() -> None:
        first_is_in.wait(9)
        with HttpLog(Lake(tmp_path), SCOPE) as log:
            entered.append(stored(Lake(tmp_path)))
            log.record(attempt("second"))

    with ThreadPoolExecutor(1) as pool:
        with HttpLog(Lake(tmp_path), SCOPE) as log:
            waiting = pool.submit(second)
            first_is_in.set()
            log.record(attempt("first"))
            assert not entered
        waiting.result(9)
    assert entered == [["first"]]
    assert stored(Lake(tmp_path)) == ["first", "second"]
