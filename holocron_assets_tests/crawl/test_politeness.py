"""What each answer means for the request and for its host. RFC clauses are named where a rule is theirs."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.crawl.http.outcomes import LONGEST_WAIT_SECONDS, Answer, retry_after_seconds
from holocron_assets.crawl.politeness import breaker as breakers
from holocron_assets.crawl.politeness.breaker import FAILURES_TO_OPEN, Breaker
from holocron_assets.crawl.politeness.host_state import HostState, hold_seconds, on_this_clock
from holocron_assets.crawl.politeness.pace import SLOWEST, Pace
from holocron_assets.crawl.politeness.rules import Decision, judge

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC).timestamp()
GOOD = Answer(sent_at=NOW - 1, status=200, is_expected=True, elapsed_seconds=0.1)
BROKEN = Answer(sent_at=NOW - 1, status=500)


def answer(
    status: int | None, *, api_error: str | None = None, is_expected: bool = False, **headers: str
) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(
        NOW - 1, status, is_expected=is_expected or api_error is not None, api_error=api_error, headers=named
    )


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
        (answer(599, is_expected=True), "server_error", True),
        (answer(403, is_expected=True), "client_error", False),
        (replace(answer(403), is_challenge=True), "captcha", True),
        (replace(answer(200), is_challenge=True), "captcha", True),
        (replace(answer(503), is_challenge=True), "captcha", True),
        (answer(500, api_error="internal_api_error_DBQueryError"), "server_error", True),
        (answer(200, api_error="internal_api_error_DBQueryError"), "api_error", True),
        (answer(200, api_error="readonly"), "api_error", True),
        (answer(200, api_error="an-error-of-an-extension"), "api_error", True),
        (answer(200, api_error="badvalue"), "api_error", False),
        (answer(403, api_error="readapidenied"), "api_error", False),
        (answer(400), "client_error", False),
        (answer(404), "client_error", False),
        (answer(414), "client_error", False),
        (answer(404, is_expected=True), "client_error", False),
        (answer(200), "not_api", True),
        (answer(204), "not_api", True),
        (answer(302), "not_api", True),
    ],
)
def test_each_kind_of_answer_has_its_outcome(given_answer: Answer, outcome: str, retry: bool) -> None:  # noqa: FBT001 - a column of the table
    decision = decide(given_answer)
    assert (decision.outcome, decision.retry) == (outcome, retry)
    assert (decision.wait_seconds is None) == (not retry)


@pytest.mark.parametrize("status", [408, 425])
def test_rfc9110_15_5_9_and_rfc8470_5_2_the_request_may_be_repeated(status: int) -> None:
    assert decide(answer(status)).retry


def test_what_may_be_a_firewalls_page_is_neither_a_failure_nor_a_good_answer() -> None:
    state = HostState(consecutive_failures=3, breaker=Breaker(is_open=True, openings=1), seen_at=NOW)
    refused = answer(403, is_expected=True, content_type="text/html; charset=utf-8")
    assert decide(refused, state) == Decision("client_error", retry=False, wait_seconds=None, state=state)


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
    state = HostState(consecutive_failures=3)
    assert decide(answer(429, retry_after="1"), state).wait_seconds == 8


def failures(count: int, given_answer: Answer = BROKEN, state: HostState | None = None) -> list[Decision]:
    """What comes of so many failures, each as soon as the host may be asked again."""
    decisions, state, moment = [], state or HostState(), NOW
    for _ in range(count):
        decision = judge(state, replace(given_answer, sent_at=moment), moment, 0)
        decisions.append(decision)
        state = decision.state
        moment = state.not_before
    return decisions


def test_each_failure_in_a_row_doubles_the_wait_and_from_the_fifth_on_the_breaker_opens() -> None:
    decisions = failures(14)
    waits = [decision.wait_seconds for decision in decisions]
    minutes = [5, 10, 20, 40, 80, 160, 320, 640, 1280]
    assert waits == [1, 2, 4, 8, *(60 * minute for minute in minutes), LONGEST_OPEN]
    states = [decision.state.breaker_state(NOW) for decision in decisions]
    assert states[:6] == ["closed"] * (FAILURES_TO_OPEN - 1) + ["open"] * 2


def test_a_thousand_failures_in_a_row_do_not_overflow() -> None:
    state = HostState(consecutive_failures=10_000, breaker=Breaker(is_open=True, openings=10_000))
    assert decide(BROKEN, state).wait_seconds == LONGEST_OPEN


def test_jitter_extends_a_wait_by_up_to_half() -> None:
    state = HostState(consecutive_failures=3)
    assert [decide(BROKEN, state, jitter).wait_seconds for jitter in (0, 0.5, 1)] == [8, 10, 12]
    state = HostState(consecutive_failures=4)
    assert [decide(BROKEN, state, jitter).wait_seconds for jitter in (0, 1)] == [300, 450]


def test_a_good_answer_ends_the_count_but_not_a_hold_that_stands() -> None:
    state = HostState(not_before=NOW + 60, consecutive_failures=4, failed_at=NOW - 10)
    after = decide(GOOD, state).state
    assert (after.consecutive_failures, after.not_before) == (0, NOW + 60)


def test_a_refused_request_shows_that_the_host_is_well() -> None:
    state = HostState(consecutive_failures=4, failed_at=NOW - 10)
    assert decide(answer(200, api_error="badvalue"), state).state.consecutive_failures == 0


def test_requests_in_flight_together_that_fail_together_are_one_incident() -> None:
    first = judge(HostState(), Answer(NOW - 1, 503), NOW, 0)
    second = judge(first.state, Answer(NOW - 1, 503), NOW + 0.5, 0)
    assert (second.state.consecutive_failures, second.state.pace.factor) == (1, 0.5)
    assert second.note is None
    third = judge(second.state, Answer(NOW + 5, 503), NOW + 6, 0)
    assert (third.state.consecutive_failures, third.state.pace.factor) == (2, 0.25)


def test_a_good_answer_to_a_request_from_before_the_failure_says_nothing_of_after() -> None:
    state = HostState(not_before=NOW + 1, consecutive_failures=3, failed_at=NOW - 0.5, seen_at=NOW)
    assert decide(GOOD, state).state == state


def test_a_later_failure_never_shortens_a_hold() -> None:
    held = HostState(not_before=NOW + 300, consecutive_failures=1, failed_at=NOW - 0.5)
    decision = decide(BROKEN, held)
    assert decision.wait_seconds == 300
    assert decision.state.not_before == NOW + 300


# The pace.


@pytest.mark.parametrize(
    ("given_answer", "factor"),
    [
        (answer(429), 0.5),
        (answer(503), 0.5),
        (answer(502), 0.5),
        (answer(504), 0.5),
        (answer(200, api_error="maxlag"), 0.5),
        (answer(200, api_error="ratelimited"), 0.5),
        (answer(500), 1),  # perhaps one page's fault
        (answer(None), 1),
        (answer(403), 1),
        (GOOD, 1),
    ],
)
def test_strain_halves_the_pace_and_other_failures_do_not(given_answer: Answer, factor: float) -> None:
    assert decide(given_answer).state.pace.factor == factor


def test_the_pace_never_falls_below_a_thirty_second() -> None:
    assert failures(12, answer(429))[-1].state.pace.factor == SLOWEST == 1 / 32


def good_answers(state: HostState, count: int, *, seconds_between: float) -> tuple[HostState, float]:
    moment = NOW
    for _ in range(count):
        moment += seconds_between
        state = judge(state, replace(GOOD, sent_at=moment - 0.1), moment, 0).state
    return state, moment


def slowed(factor: float = SLOWEST) -> HostState:
    return HostState(pace=Pace(factor, changed_at=NOW), seen_at=NOW)


@pytest.mark.parametrize(
    ("count", "seconds_between", "factor"),
    [(9, 100, 0.5), (10, 2.9, 0.5), (10, 3, 0.625), (19, 3, 0.625), (20, 3, 0.78125)],
)
def test_the_pace_rises_by_a_quarter_after_ten_good_answers_and_half_a_minute(
    count: int, seconds_between: float, factor: float
) -> None:
    state, _ = good_answers(slowed(0.5), count, seconds_between=seconds_between)
    assert state.pace.factor == factor


def test_full_pace_is_reached_again_but_not_within_five_minutes_of_the_slowest() -> None:
    state, moment = good_answers(slowed(), 10_000, seconds_between=0.1)
    assert (state.pace.factor, moment > NOW + 300) == (1, True)
    state, _ = good_answers(slowed(), 3000, seconds_between=0.1)
    assert state.pace.factor < 1


# The breaker.

LONGEST_OPEN = breakers.LONGEST_OPEN_SECONDS
CHALLENGED = replace(answer(403), is_challenge=True)


def test_a_captcha_opens_the_breaker_at_once_for_an_hour_and_longer_each_time() -> None:
    decisions = failures(6, CHALLENGED)
    hours = [(decision.wait_seconds or 0) / 3600 for decision in decisions]
    assert hours == [1, 2, 4, 8, 16, 24]
    assert "it wants proof that we are human" in str(decisions[0].note)


def test_a_captcha_among_requests_that_failed_together_opens_the_breaker_once() -> None:
    first = judge(HostState(), Answer(NOW - 1, 503), NOW, 0)
    second = judge(first.state, replace(CHALLENGED, sent_at=NOW - 1), NOW + 0.1, 0)
    third = judge(second.state, replace(CHALLENGED, sent_at=NOW - 1), NOW + 0.2, 0)
    assert (second.state.breaker.openings, third.state.breaker.openings) == (1, 1)
    assert second.wait_seconds == 3600


def opened() -> HostState:
    return failures(FAILURES_TO_OPEN)[-1].state


def test_once_its_time_has_passed_the_breaker_is_half_open() -> None:
    state = opened()
    assert state.breaker_state(state.not_before - 1) == "open"
    assert state.breaker_state(state.not_before) == "half_open"


def test_a_good_probe_closes_the_breaker() -> None:
    state = opened()
    moment = state.not_before + 1
    decision = judge(state, replace(GOOD, sent_at=moment), moment + 1, 0)
    assert decision.state.breaker_state(moment + 1) == "closed"
    assert "asked again, as a probe was answered well" in str(decision.note)


def test_a_request_from_before_the_breaker_opened_does_not_close_it() -> None:
    state = opened()
    assert judge(
        state, replace(GOOD, sent_at=state.failed_at - 1), state.not_before + 1, 0
    ).state.breaker.is_open


def test_a_bad_probe_opens_it_again_at_once_and_for_longer() -> None:
    state = opened()
    moment = state.not_before + 1
    decision = judge(state, replace(BROKEN, sent_at=moment), moment, 0)
    assert (decision.wait_seconds, decision.state.breaker_state(moment)) == (600, "open")


def test_a_breaker_that_flaps_stays_open_for_longer_until_the_full_pace_is_reached_again() -> None:
    state = opened()
    moment = state.not_before + 1
    state = judge(state, replace(GOOD, sent_at=moment), moment, 0).state
    again = failures(1, CHALLENGED, state)[0]
    assert again.wait_seconds == 7200
    recovered = good_answers(replace(state, seen_at=NOW, failed_at=NOW - 1), 400, seconds_between=5)[0]
    assert recovered.breaker == Breaker()


# Slow answers.


def slow_answers(count: int, *, seconds: float = 20, state: HostState | None = None) -> list[HostState]:
    states, state, moment = [], state or HostState(), NOW
    for _ in range(count):
        moment += seconds + 1
        slow = replace(GOOD, sent_at=moment - seconds, elapsed_seconds=seconds)
        state = judge(state, slow, moment, 0, slow_seconds=10).state
        states.append(state)
    return states


def test_a_wiki_that_answers_slowly_is_asked_less_and_in_the_end_left_alone() -> None:
    states = slow_answers(6)
    assert [state.pace.factor for state in states] == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 32]
    assert [state.breaker.is_open for state in states] == [False] * 5 + [True]
    assert states[-1].reason == "its answers take 20.0 s, however little it is asked"
    assert hold_seconds(states[-1], states[-1].seen_at) == 300


def test_slow_answers_to_requests_under_way_together_slow_down_once() -> None:
    state = HostState()
    for late in range(4):
        slow = replace(GOOD, sent_at=NOW - 20, elapsed_seconds=20 + late)
        state = judge(state, slow, NOW + late, 0, slow_seconds=10).state
    assert state.pace.factor == 0.5


def test_one_slow_answer_among_quick_ones_means_nothing() -> None:
    state = HostState(pace=Pace(typical_seconds=0.5))
    assert slow_answers(1, state=state)[0].pace.factor == 1


def test_quick_answers_after_slow_ones_do_not_slow_down_further() -> None:
    state = slow_answers(1, seconds=200)[-1]
    after, _ = good_answers(state, 3, seconds_between=300)
    assert after.pace.factor == 0.5


def test_a_slow_probe_leaves_the_wiki_alone_for_longer() -> None:
    state = slow_answers(6)[-1]
    moment = state.not_before + 20
    slow = replace(GOOD, sent_at=moment - 20, elapsed_seconds=20)
    again = judge(state, slow, moment, 0, slow_seconds=10)
    assert again.outcome == "ok"
    assert hold_seconds(again.state, moment) == 600


def test_a_quick_probe_after_slow_answers_closes_the_breaker() -> None:
    state = slow_answers(6)[-1]
    moment = state.not_before + 1
    quick = replace(GOOD, sent_at=moment, elapsed_seconds=0.5)
    assert not judge(state, quick, moment + 1, 0, slow_seconds=10).state.breaker.is_open


# Clocks.

DAY = 86_400.0


def test_a_hold_longer_than_any_that_is_set_is_void() -> None:
    assert hold_seconds(HostState(not_before=NOW + DAY), NOW) == DAY
    assert hold_seconds(HostState(not_before=NOW + DAY + 1), NOW) == 0


@given(
    moved=st.floats(0, 400 * DAY),
    hold=st.floats(0, DAY),
    ago=st.floats(0, DAY),
)
def test_when_the_clock_is_set_back_what_was_left_to_wait_is_left_to_wait(
    moved: float, hold: float, ago: float
) -> None:
    state = HostState(not_before=NOW + hold, failed_at=NOW - ago, seen_at=NOW)
    after = on_this_clock(state, NOW - moved)
    assert after.seen_at == NOW - moved
    assert after.not_before - after.seen_at == pytest.approx(hold, abs=1e-3)
    assert after.seen_at - after.failed_at == pytest.approx(ago, abs=1e-3)


def test_a_failure_from_before_the_clock_was_set_back_does_not_hide_new_ones() -> None:
    state = HostState(consecutive_failures=1, failed_at=NOW + DAY, seen_at=NOW + DAY)
    assert decide(BROKEN, state).state.consecutive_failures == 1  # the same incident, as seen then
    later = judge(on_this_clock(state, NOW), replace(BROKEN, sent_at=NOW + 5), NOW + 6, 0)
    assert later.state.consecutive_failures == 2
    assert judge(state, replace(GOOD, sent_at=NOW + 5), NOW + 6, 0).state.consecutive_failures == 1


ANSWERS = st.builds(
    Answer,
    sent_at=st.just(0.0),
    status=st.sampled_from([None, 200, 302, 400, 403, 404, 429, 500, 503]),
    is_expected=st.booleans(),
    is_challenge=st.sampled_from([False] * 9 + [True]),
    api_error=st.sampled_from([None, None, None, "maxlag", "badvalue", "readonly"]),
    elapsed_seconds=st.sampled_from([0.1, 1.0, 30.0]),
    headers=st.sampled_from([{}, {"retry-after": "120"}]),
)


@given(st.lists(st.tuples(ANSWERS, st.floats(0, 2 * DAY)), max_size=60))
def test_whatever_comes_the_state_stays_within_its_bounds(answers: list[tuple[Answer, float]]) -> None:
    state, moment = HostState(), NOW
    for given_answer, pause in answers:
        moment = max(moment, state.not_before) + pause
        decision = judge(state, replace(given_answer, sent_at=moment), moment + 1, 0.5)
        state = decision.state
        assert SLOWEST <= state.pace.factor <= 1
        assert hold_seconds(state, moment + 1) == max(state.not_before - moment - 1, 0) <= LONGEST_OPEN
        assert state.breaker.openings == 0 or state.pace.factor < 1
        assert decision.retry == (decision.wait_seconds is not None)
        assert state.breaker_state(moment + 1) != "half_open"
