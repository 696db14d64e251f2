"""Long work writes lines where no terminal shows a bar."""

from time import monotonic, sleep

import pytest

from holocron_assets.telemetry.long_work import SECONDS, progress_lines

SOON = 0.02


def wait_for(lines: list[str], number: int) -> None:
    until = monotonic() + 10
    while len(lines) < number and monotonic() < until:
        sleep(SOON / 4)


def test_lines_say_what_is_done_and_for_how_long() -> None:
    said: list[str] = []
    pages = 3
    with progress_lines(lambda: f"{pages} pages read", said.append, every=SOON):
        wait_for(said, 1)
        pages = 4
        wait_for(said, 3)
    assert said[0] == "3 pages read, 0 s"
    assert said[-1] == "4 pages read, 0 s"


def test_no_line_comes_once_the_work_is_done() -> None:
    said: list[str] = []
    with pytest.raises(RuntimeError), progress_lines(lambda: "working", said.append, every=SOON):
        raise RuntimeError
    number = len(said)
    sleep(3 * SOON)
    assert len(said) == number


def test_only_the_inner_work_reports_progress() -> None:
    outer: list[str] = []
    inner: list[str] = []
    with progress_lines(lambda: "running", outer.append, every=SOON):
        wait_for(outer, 1)
        with progress_lines(lambda: "fetching", inner.append, every=SOON):
            number = len(outer)
            wait_for(inner, 3)
            assert len(outer) <= number + 1  # one may have been under way
        number = len(outer)
        wait_for(outer, number + 1)
        assert len(outer) > number


def test_short_work_writes_nothing() -> None:
    said: list[str] = []
    with progress_lines(lambda: "working", said.append):
        pass
    assert said == []


def test_a_line_comes_at_least_every_ten_seconds() -> None:
    assert SECONDS < 10
