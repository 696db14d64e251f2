"""What each answer means for the request and for its host. RFC clauses are named where a rule is theirs."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.crawl.politeness import (
    LONGEST_WAIT_SECONDS,
    Answer,
    Decision,
    HostState,
    hold_seconds,
    judge,
    retry_after_seconds,
)

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC).timestamp()
GOOD = Answer(sent_at=NOW - 1, status=200, is_api=True)


def answer(
    status: int | None, *, api_error: str | None = None, is_api: bool = False, **headers: str
) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(NOW - 1, status, is_api=is_api or api_error is not None, api_error=api_error, headers=named)


def decide(given_answer: Answer, state: HostState | None = None, jitter: float = 0.0) -> Decision:
    return judge(state or HostState(), given_answer, NOW, jitter)


@pytest.mark.parametrize(
    ("given_answer", "outcome", "retry"),
    [
        (GOOD, "ok", False),
        (answer(None), "network_error", True),
        (replace(GOOD, complete=False), "network_error", True),
        (answer(200, api_error="maxlag"), "maxlag", True),
        (answer(503, api_error="maxlag"), "maxlag", True),
        (answer(429), "throttled", True),
        (answer(200, api_error="ratelimited"), "throttled", True),
        (answer(429, api_error="ratelimited"), "throttled", True),
        (answer(500), "server_error", True),
        (answer(503), "server_error", True),
        (answer(599, is_api=True), "server_error", True),
        (answer(500, api_error="internal_api_error_DBQueryError"), "server_error", True),
        (answer(200, api_error="internal_api_error_DBQueryError"), "api_error", True),
        (answer(200, api_error="readonly"), "api_error", True),
        (answer(200, api_error="an-error-of-an-extension"), "api_error", True),
        (answer(200, api_error="badvalue"), "api_error", False),
        (answer(403, api_error="readapidenied"), "api_error", False),
        (answer(400), "client_error", False),
        (answer(404), "client_error", False),
        (answer(414), "client_error", False),
        (answer(404, is_api=True), "client_error", False),
        (answer(200), "not_api", True),
        (answer(204), "not_api", True),
        (answer(302), "not_api", True),
    ],
)
def test_each_kind_of_answer_has_its_outcome(given_answer: Answer, outcome: str, retry: bool) -> None:  # noqa: FBT001 - a column of the table
    decision = decide(given_answer)
    assert (decision.outcome, decision.retry) == (outcome, retry)
    assert decision.permanent == (outcome != "ok" and not retry)
    assert (decision.wait_seconds is None) == (not retry)


@pytest.mark.parametrize("status", [408, 425])
def test_rfc9110_15_5_9_and_rfc8470_5_2_the_request_may_be_repeated(status: int) -> None:
    assert decide(answer(status)).retry


@pytest.mark.parametrize("status", [401, 403, 405])
def test_a_bot_wall_is_transient_although_its_status_is_a_client_error(status: int) -> None:
    decision = decide(answer(status))
    assert (decision.outcome, decision.retry) == ("not_api", True)


def wait_asked(**headers: str) -> float | None:
    named: Mapping[str, str] = {name.replace("_", "-"): value for name, value in headers.items()}
    return retry_after_seconds(named, NOW)


@pytest.mark.parametrize(("value", "seconds"), [("0", 0), ("5", 5), (" 120 ", 120), ("900", 900)])
def test_rfc9110_10_2_3_retry_after_in_seconds(value: str, seconds: float) -> None:
    assert wait_asked(retry_after=value) == seconds


@pytest.mark.parametrize("value", ["901", "1000000000", "9" * 5000, "Sun, 21 Nov 2027 12:00:00 GMT"])
def test_a_retry_after_is_capped_at_900_seconds(value: str) -> None:
    assert wait_asked(retry_after=value) == LONGEST_WAIT_SECONDS


@pytest.mark.parametrize(
    "value", ["Sat, 21 Nov 2026 12:02:00 GMT", "Saturday, 21-Nov-26 12:02:00 GMT", "Sat Nov 21 12:02:00 2026"]
)
def test_rfc9110_5_6_7_all_three_forms_of_a_date_are_read(value: str) -> None:
    assert wait_asked(retry_after=value) == 120


def test_rfc9110_6_6_1_a_date_is_read_against_the_hosts_own_clock() -> None:
    assert wait_asked(retry_after="Sat, 21 Nov 2026 15:00:30 GMT", date="Sat, 21 Nov 2026 15:00:00 GMT") == 30


@pytest.mark.parametrize(
    "value",
    [
        *("", "soon", "-5", "1.5", "1e3", "5, 10", "\u0665", "0x10", "\ud800"),
        *("Sat, 99 Nov 2026 12:00:00 GMT", "Sat, 21 Nov 2026 11:59:59 GMT", "Sat, 21 Nov 2026"),
        "Mon, 01 Jan 0001 00:00:00 +2359",
    ],
)
def test_garbage_and_dates_that_have_passed_are_ignored(value: str) -> None:
    assert wait_asked(retry_after=value) is None


@given(st.text(), st.text())
def test_no_header_makes_it_crash_or_wait_too_long(retry_after: str, date: str) -> None:
    wait = retry_after_seconds({"retry-after": retry_after, "date": date}, NOW)
    assert wait is None or 0 <= wait <= LONGEST_WAIT_SECONDS


@pytest.mark.parametrize(
    "given_answer",
    [
        answer(429, retry_after="300"),
        answer(503, retry_after="300"),
        answer(200, retry_after="300", api_error="maxlag"),
        answer(200, retry_after="300"),
        answer(403, retry_after="300"),
    ],
)
def test_a_retry_after_is_obeyed_from_any_layer(given_answer: Answer) -> None:
    decision = decide(given_answer)
    assert decision.wait_seconds == 300
    assert decision.state.not_before == NOW + 300


def test_a_retry_after_shorter_than_our_own_backoff_does_not_shorten_it() -> None:
    state = HostState(consecutive_failures=4)
    assert decide(answer(429, retry_after="1"), state).wait_seconds == 16


def test_each_failure_in_a_row_doubles_the_wait_up_to_900_seconds() -> None:
    state, waits = HostState(), []
    moment = NOW
    for _ in range(12):
        decision = judge(state, Answer(moment, 500), moment, 0)
        assert decision.wait_seconds is not None
        waits.append(decision.wait_seconds)
        state = decision.state
        moment = state.not_before
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]


def test_a_thousand_failures_in_a_row_do_not_overflow() -> None:
    assert decide(answer(500), HostState(consecutive_failures=10_000)).wait_seconds == LONGEST_WAIT_SECONDS


def test_jitter_stretches_a_wait_by_up_to_half() -> None:
    state = HostState(consecutive_failures=3)
    assert [decide(answer(500), state, jitter).wait_seconds for jitter in (0, 0.5, 1)] == [8, 10, 12]


def test_a_good_answer_ends_the_count_but_not_a_hold_that_stands() -> None:
    state = HostState(not_before=NOW + 60, consecutive_failures=5, failed_at=NOW - 10)
    assert decide(GOOD, state).state == replace(state, consecutive_failures=0)


def test_a_refused_request_shows_that_the_host_is_well() -> None:
    state = HostState(consecutive_failures=5, failed_at=NOW - 10)
    assert decide(answer(200, api_error="badvalue"), state).state.consecutive_failures == 0


def test_requests_in_flight_together_that_fail_together_are_one_incident() -> None:
    first = judge(HostState(), Answer(NOW - 1, 503), NOW, 0)
    second = judge(first.state, Answer(NOW - 1, 503), NOW + 0.5, 0)
    assert second.state.consecutive_failures == 1
    third = judge(second.state, Answer(NOW + 5, 503), NOW + 6, 0)
    assert third.state.consecutive_failures == 2


def test_a_good_answer_to_a_request_from_before_the_failure_says_nothing_of_after() -> None:
    state = HostState(not_before=NOW + 1, consecutive_failures=3, failed_at=NOW - 0.5)
    assert decide(GOOD, state).state == state


def test_a_later_failure_never_shortens_a_hold() -> None:
    held = HostState(not_before=NOW + 300, consecutive_failures=1, failed_at=NOW - 0.5)
    decision = decide(answer(500), held)
    assert decision.wait_seconds == 300
    assert decision.state.not_before == NOW + 300


def test_a_hold_set_before_the_clock_was_moved_back_is_void() -> None:
    assert hold_seconds(HostState(not_before=NOW + 900), NOW) == 900
    assert hold_seconds(HostState(not_before=NOW + 901), NOW) == 0
    assert decide(answer(500), HostState(not_before=NOW + 86_400)).wait_seconds == 1


def test_a_failure_from_before_the_clock_was_moved_back_does_not_hide_new_ones() -> None:
    state = HostState(consecutive_failures=1, failed_at=NOW + 86_400)
    assert decide(answer(500), state).state.consecutive_failures == 2
    assert decide(GOOD, state).state.consecutive_failures == 0
