"""The limits of a host, as threads and whole processes meet them."""

import json
import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
import time_machine

from holocron_assets.crawl.errors import HostBusy
from holocron_assets.crawl.http.outcomes import Answer
from holocron_assets.crawl.politeness import limits as limits_module
from holocron_assets.crawl.politeness.breaker import Breaker
from holocron_assets.crawl.politeness.host_state import HostState
from holocron_assets.crawl.politeness.limits import HostLimits
from holocron_assets.crawl.politeness.pace import Pace
from holocron_assets.crawl.politeness.rules import Decision, judge
from holocron_assets.crawl.politeness.shared_state import folder_of
from holocron_assets.crawl.sources.settings import Politeness
from holocron_assets.errors import TransientError

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOST = "127.0.0.1:8090"


def limits_of(
    folder: Path,
    *,
    rate: float = 100,
    queue_seconds: float = 5,
    host: str = HOST,
    **limits: int,
) -> HostLimits:
    politeness = Politeness.model_validate({"requests_per_second": float(rate), **limits})
    return HostLimits(host, politeness, folder, queue_seconds=queue_seconds)


def fail(limits: HostLimits, retry_after: str) -> Decision:
    answer = Answer(time.time(), 429, headers={"retry-after": retry_after})
    # At full pace, so that the tests of holds need not wait for the pace too.
    return limits.learn(lambda state: at_full_pace(judge(state, answer, time.time(), 0)))


def at_full_pace(decision: Decision) -> Decision:
    return replace(decision, state=replace(decision.state, pace=Pace()))


CHILD = """
import sys, time
from pathlib import Path
from holocron_assets.crawl.politeness.limits import HostLimits
from holocron_assets.crawl.sources.settings import Politeness
folder, rate, in_flight, turns, hold, burst = Path(sys.argv[1]), *map(float, sys.argv[2:])
politeness = Politeness(requests_per_second=rate, requests_in_flight=int(in_flight), burst=int(burst))
with HostLimits("127.0.0.1:8090", politeness, folder) as limits:
    for _ in range(int(turns)):
        with limits.turn():
            entered = time.time()
            print("in", entered, flush=True)
            time.sleep(hold)
        print("out", time.time(), flush=True)
"""


@contextmanager
def child(  # noqa: PLR0913 - one for each thing that the child gets
    folder: Path, *, rate: float, in_flight: int = 8, turns: int = 1, hold: float = 0, burst: int = 1
) -> Iterator[subprocess.Popen[str]]:
    arguments = [str(folder), *(str(number) for number in (rate, in_flight, turns, hold, burst))]
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", CHILD, *arguments], stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def read_times(process: subprocess.Popen[str]) -> list[tuple[str, float]]:
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    return [(word, float(moment)) for word, moment in (line.split() for line in output.splitlines())]


def test_requests_leave_evenly_spaced_at_the_given_rate(tmp_path: Path) -> None:
    moments = []
    with limits_of(tmp_path, rate=5) as limits:
        for _ in range(5):
            with limits.turn():
                moments.append(time.time())
    assert min(later - earlier for earlier, later in pairwise(moments)) > 0.1
    assert moments[-1] - moments[0] > 0.79


def test_a_turn_records_how_long_it_waited(tmp_path: Path) -> None:
    with limits_of(tmp_path, rate=2) as limits:
        with limits.turn() as first:
            pass
        with limits.turn() as second:
            pass
    assert first.waited_seconds < 0.3 < second.waited_seconds
    assert second.held_seconds == 0


def test_threads_share_rate_and_slots(tmp_path: Path) -> None:
    inside = most = 0
    counting = threading.Lock()
    moments = []

    def work(limits: HostLimits) -> None:
        nonlocal inside, most
        with limits.turn():
            with counting:
                moments.append(time.time())
                inside += 1
                most = max(most, inside)
            time.sleep(0.1)
            with counting:
                inside -= 1

    with limits_of(tmp_path, rate=25, requests_in_flight=2) as limits, ThreadPoolExecutor(6) as pool:
        for future in [pool.submit(work, limits) for _ in range(12)]:
            future.result()
    assert most == 2
    assert max(moments) - min(moments) > 11 * 0.04 - 0.02


def test_processes_share_the_rate(tmp_path: Path) -> None:
    with (
        child(tmp_path, rate=20, in_flight=8, turns=8, hold=0) as one,
        child(tmp_path, rate=20, in_flight=8, turns=8, hold=0) as two,
    ):
        moments = sorted(moment for word, moment in read_times(one) + read_times(two) if word == "in")
    assert len(moments) == 16
    assert moments[-1] - moments[0] > 15 * 0.05 - 0.02


def test_processes_share_the_slots(tmp_path: Path) -> None:
    with (
        child(tmp_path, rate=100, in_flight=1, turns=5, hold=0.05) as one,
        child(tmp_path, rate=100, in_flight=1, turns=5, hold=0.05) as two,
    ):
        events = sorted(read_times(one) + read_times(two), key=lambda event: event[1])
    entries = [moment for word, moment in events if word == "in"]
    assert len(entries) == 10
    assert min(later - earlier for earlier, later in pairwise(entries)) > 0.045


def test_a_killed_process_leaves_its_slot_free(tmp_path: Path) -> None:
    with (
        child(tmp_path, rate=100, in_flight=1, turns=1, hold=60) as holder,
        limits_of(tmp_path, queue_seconds=0.3) as limits,
    ):
        assert holder.stdout
        assert holder.stdout.readline().startswith("in")
        with pytest.raises(HostBusy, match=r"no request may be sent within 0\.3 s"), limits.turn():
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with limits.turn() as turn:
            assert turn.waited_seconds < 5


def test_a_retry_after_seen_by_one_process_holds_all(tmp_path: Path) -> None:
    with limits_of(tmp_path) as limits:
        fail(limits, "0")
    started = time.time()
    with child(tmp_path, rate=100, in_flight=1, turns=1, hold=0) as process:
        assert read_times(process)[0][1] - started > 0.9


def test_a_short_hold_is_slept_through_and_recorded(tmp_path: Path) -> None:
    with limits_of(tmp_path) as limits:
        fail(limits, "0")
        with limits.turn() as turn:
            assert 0.8 < turn.held_seconds <= turn.waited_seconds


def test_a_long_hold_raises_with_its_due_time_and_takes_nothing(tmp_path: Path) -> None:
    with limits_of(tmp_path) as limits:
        fail(limits, "600")
        started = time.time()
        with pytest.raises(HostBusy, match=HOST) as caught, limits.turn(max_hold_seconds=10):
            pass
        assert time.time() - started < 5
        assert caught.value.due_at.timestamp() == pytest.approx(started + 600, abs=1)
        assert caught.value.outcome is None
        assert isinstance(caught.value, TransientError)


def test_a_hold_that_grows_while_it_is_slept_through_is_counted_whole(tmp_path: Path) -> None:
    with limits_of(tmp_path) as limits:
        fail(limits, "0")
        another = threading.Timer(0.5, fail, (limits, "2"))
        another.start()
        with pytest.raises(HostBusy), limits.turn(max_hold_seconds=2):
            pass
        another.join()


def test_a_rate_too_slow_to_wait_for_raises_with_its_due_time(tmp_path: Path) -> None:
    with limits_of(tmp_path, rate=0.001) as limits:
        with limits.turn():
            pass
        with pytest.raises(HostBusy) as caught, limits.turn():
            pass
        assert caught.value.due_at.timestamp() == pytest.approx(time.time() + 1000, abs=5)


@pytest.mark.parametrize(("patience", "gets_turn"), [(math.inf, True), (0.7, False)])
def test_a_wait_in_which_others_have_their_turns_ends_only_with_the_patience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: float, *, gets_turn: bool
) -> None:
    politeness = Politeness(requests_per_second=4)
    rivals = iter(range(4))
    with (
        HostLimits(HOST, politeness, tmp_path) as other,
        HostLimits(HOST, politeness, tmp_path, queue_seconds=0.4, patience_seconds=patience) as limits,
    ):

        def sleep_while_the_other_is_faster(seconds: float) -> None:
            time.sleep(seconds)
            if threading.current_thread() is waiter and next(rivals, None) is not None:
                with ThreadPoolExecutor() as pool:
                    pool.submit(take_a_turn, other).result()

        waiter = threading.current_thread()
        clock = SimpleNamespace(monotonic=time.monotonic, sleep=sleep_while_the_other_is_faster)
        monkeypatch.setattr(limits_module, "time", clock)
        take_a_turn(other)
        with nullcontext() if gets_turn else pytest.raises(HostBusy):
            assert take_a_turn(limits) > 1, "longer than the queue may take, but nothing was stuck"


def take_a_turn(limits: HostLimits) -> float:
    with limits.turn() as turn:
        return turn.waited_seconds


def test_a_hold_counts_for_its_host_alone(tmp_path: Path) -> None:
    with limits_of(tmp_path) as held, limits_of(tmp_path, host="127.0.0.1:8091") as other:
        fail(held, "600")
        with other.turn() as turn:
            assert turn.waited_seconds < 5


def test_a_slot_is_freed_when_its_request_raises(tmp_path: Path) -> None:
    with limits_of(tmp_path, queue_seconds=0.2) as limits:
        with pytest.raises(ZeroDivisionError), limits.turn():
            _ = 1 / 0
        with limits.turn():
            pass


def test_failures_learnt_by_several_threads_are_all_kept(tmp_path: Path) -> None:
    def another(state: HostState) -> Decision:
        return Decision(
            "ok", retry=False, wait_seconds=None, state=HostState(0, state.consecutive_failures + 1)
        )

    with limits_of(tmp_path) as limits, ThreadPoolExecutor(4) as pool:
        list(pool.map(limits.learn, [another] * 20))
        assert limits.state().consecutive_failures == 20


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"unknown": 1}', "\x00", '{"not_before": "x"}', '{"pace": {"factor": 0}}']
)
def test_a_damaged_state_file_is_as_good_as_none(tmp_path: Path, damage: str) -> None:
    with limits_of(tmp_path) as limits:
        fail(limits, "600")
        (state_file,) = tmp_path.glob("*/state.json")
        state_file.write_text(damage)
        assert limits.state() == HostState()
        with limits.turn():
            pass


def test_a_hold_lasts_as_long_as_it_was_meant_to_when_the_clock_is_set_back(tmp_path: Path) -> None:
    with limits_of(tmp_path) as limits, time_machine.travel(NOON + timedelta(days=1), tick=False) as clock:
        fail(limits, "600")
        clock.move_to(NOON)
        with pytest.raises(HostBusy) as caught, limits.turn():
            pass
        assert caught.value.due_at == NOON + timedelta(seconds=600)
        clock.move_to(NOON + timedelta(seconds=601))
        with limits.turn() as turn:
            assert turn.held_seconds == 0


def test_requests_sent_before_the_clock_was_set_back_hold_up_no_longer_than_their_rate(
    tmp_path: Path,
) -> None:
    with limits_of(tmp_path, rate=0.01) as limits, time_machine.travel(NOON, tick=False) as clock:
        with limits.turn():
            pass
        clock.move_to(NOON - timedelta(days=1))
        with pytest.raises(HostBusy, match="no request may be sent") as caught, limits.turn():
            pass
        assert caught.value.due_at == NOON - timedelta(days=1) + timedelta(seconds=100)


def test_the_state_of_an_earlier_version_is_understood(tmp_path: Path) -> None:
    folder = folder_of(HOST, tmp_path)
    folder.mkdir()
    until = time.time() + 600
    earlier = {"not_before": until, "consecutive_failures": 3, "failed_at": time.time()}
    (folder / "state.json").write_text(json.dumps(earlier))
    with limits_of(tmp_path) as limits:
        assert (limits.state().not_before, limits.state().pace.factor) == (until, 1)
        with pytest.raises(HostBusy), limits.turn():
            pass


def test_a_burst_leaves_at_once_and_the_rest_at_the_rate(tmp_path: Path) -> None:
    with limits_of(tmp_path, rate=10, burst=5) as limits:
        moments = []
        for _ in range(8):
            with limits.turn():
                moments.append(time.monotonic())
    assert moments[4] - moments[0] < 0.1
    assert moments[7] - moments[0] > 0.3 - 0.01


def test_processes_never_exceed_burst_and_rate_in_any_window(tmp_path: Path) -> None:
    with (
        child(tmp_path, rate=40, in_flight=8, turns=20, hold=0, burst=5) as one,
        child(tmp_path, rate=40, in_flight=8, turns=20, hold=0, burst=5) as two,
    ):
        moments = sorted(moment for word, moment in read_times(one) + read_times(two) if word == "in")
    # What a process notes after it was let go may be late, which moves requests together.
    late = 0.05
    for first, last in combinations(range(len(moments)), 2):
        assert last - first + 1 <= 5 + 40 * (moments[last] - moments[first] + late)
    assert len(moments) == 40


def test_a_hundred_requests_a_second_are_reached(tmp_path: Path) -> None:
    with (
        limits_of(tmp_path, requests_in_flight=4, burst=4) as limits,
        ThreadPoolExecutor(4) as pool,
    ):

        def ask(_: int) -> None:
            with limits.turn():
                time.sleep(0.02)

        started = time.monotonic()
        list(pool.map(ask, range(100)))
        assert 0.95 < time.monotonic() - started < 1.5


def test_a_half_open_breaker_lets_one_probe_through_at_a_time_over_all_processes(tmp_path: Path) -> None:
    half_open = HostState(breaker=Breaker(is_open=True, openings=1))
    with limits_of(tmp_path, requests_in_flight=4, queue_seconds=0.2) as limits:
        limits.learn(lambda _: Decision("ok", retry=False, wait_seconds=None, state=half_open))
        with child(tmp_path, rate=100, in_flight=4, turns=1, hold=60) as prober:
            assert prober.stdout
            assert prober.stdout.readline().startswith("in")
            with pytest.raises(HostBusy) as caught, limits.turn():
                pass
            assert caught.value.hindrance == "slot"
        with limits.turn():  # the prober was killed, and its place is free
            pass


def test_a_crawl_delay_spaces_requests_and_allows_no_burst(tmp_path: Path) -> None:
    with limits_of(tmp_path, rate=100, burst=10) as limits:
        limits.space_out(0.2)
        moments = []
        for _ in range(3):
            with limits.turn():
                moments.append(time.time())
    assert min(later - earlier for earlier, later in pairwise(moments)) > 0.19


def test_a_crawl_delay_shorter_than_the_rates_spacing_changes_nothing(tmp_path: Path) -> None:
    with limits_of(tmp_path, rate=2, burst=3) as limits:
        limits.space_out(0.1)
        assert (limits.politeness.requests_per_second, limits.politeness.burst) == (2, 3)


def test_a_hosts_name_stays_inside_the_state_folder(tmp_path: Path) -> None:
    with limits_of(tmp_path / "state", host="../../evil/..:80") as limits, limits.turn():
        pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["state"]


def test_a_host_with_the_longest_name_has_a_folder_of_its_own(tmp_path: Path) -> None:
    longest = "a." * 126 + "a"
    with (
        limits_of(tmp_path, host=f"{longest}:65535") as one,
        limits_of(tmp_path, host=f"{longest}:65534") as two,
    ):
        fail(one, "600")
        assert two.state() == HostState()


def test_open_hosts_with_many_slots_take_few_of_the_files_that_a_process_may_open(tmp_path: Path) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    with ExitStack() as opened:
        for number in range(64):
            limits = limits_of(tmp_path, host=f"127.0.0.1:{number}", requests_in_flight=32)
            opened.enter_context(limits)
            with limits.turn():
                pass
        assert len(list(Path("/dev/fd").iterdir())) - before <= 64
