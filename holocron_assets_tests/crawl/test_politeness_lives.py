"""A host's whole life: requests, answers of every kind, a clock that jumps, and what holds all through."""

from dataclasses import dataclass, field, replace
from itertools import combinations

from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from holocron_assets.crawl.http.outcomes import LONGEST_WAIT_SECONDS, Answer
from holocron_assets.crawl.politeness.breaker import FAILURES_TO_OPEN, LONGEST_OPEN_SECONDS
from holocron_assets.crawl.politeness.host_state import HostState, hold_seconds
from holocron_assets.crawl.politeness.pace import SLOWEST
from holocron_assets.crawl.politeness.rules import Decision, judge, permit
from holocron_assets.crawl.sources.settings import Politeness

START = 1_800_000_000.0
DAY = 86_400.0
GOOD = Answer(sent_at=0.0, status=200, is_expected=True, elapsed_seconds=0.2)
LONGEST_SPACING = 1 / (0.5 * SLOWEST)  # the slowest rate below, at its slowest pace


@dataclass
class Life:
    """A host, asked one request after the other. Time passes truly; the clock may say something else."""

    politeness: Politeness
    true_now: float = 0.0
    clock_ahead: float = START
    state: HostState = field(default_factory=HostState)
    sent: list[float] = field(default_factory=list)
    jumps_ahead: list[float] = field(default_factory=list)

    @property
    def now(self) -> float:
        return self.true_now + self.clock_ahead

    def move_clock(self, seconds: float) -> None:
        self.clock_ahead += seconds
        if seconds > 0:
            self.jumps_ahead.append(self.true_now)

    def wait_for_permit(self) -> float:
        """Wait until a request may leave, and let it leave; give how long that took."""
        waited = 0.0
        while True:
            found = permit(self.state, self.politeness, self.now)
            if found.obstacle is None:
                break
            self.state = found.state
            pause = max(found.obstacle.wait_seconds, 1e-4)  # the last bit that a float cannot hold
            waited += pause
            self.true_now += pause
        self.state = found.state_once_sent
        self.sent.append(self.true_now)
        return waited

    def ask(self, answer: Answer, jitter: float = 0.5) -> Decision:
        self.wait_for_permit()
        sent_at = self.now
        self.true_now += answer.elapsed_seconds
        decision = judge(self.state, replace(answer, sent_at=sent_at), self.now, jitter)
        self.state = decision.state
        return decision


politenesses = st.builds(
    Politeness, requests_per_second=st.sampled_from([0.5, 1.0, 20.0]), burst=st.integers(1, 5)
)
answers = st.just(GOOD) | st.builds(
    Answer,
    sent_at=st.just(0.0),
    status=st.sampled_from([None, 200, 200, 200, 403, 404, 429, 500, 503]),
    is_expected=st.booleans(),
    is_challenge=st.sampled_from([False] * 9 + [True]),
    api_error=st.sampled_from([None, None, None, "maxlag", "badvalue", "ratelimited"]),
    elapsed_seconds=st.sampled_from([0.1, 0.1, 1.0, 30.0]),
    headers=st.sampled_from([{}, {"retry-after": "120"}, {"retry-after": "9" * 12}, {"retry-after": "soon"}]),
)
rests = st.sampled_from([0.0, 0.0, 0.0, 1.0, 40.0, 400.0])
quiet_clock = st.lists(st.tuples(answers, rests, st.just(0.0)), max_size=40)
any_clock = st.lists(
    st.tuples(answers, rests, st.sampled_from([0.0] * 6 + [-DAY, DAY, -3600.0, 3600.0, -400 * DAY, 5.0])),
    max_size=40,
)
well = st.lists(st.tuples(st.just(GOOD), st.just(0.0), st.just(0.0)), min_size=8, max_size=20)
steps = quiet_clock | any_clock | st.builds(lambda one, other: one + other, any_clock, well)


def lived(politeness: Politeness, history: list[tuple[Answer, float, float]]) -> tuple[Life, list[Decision]]:
    life, decisions = Life(politeness), []
    for answer, rest, jump in history:
        life.true_now += rest
        life.move_clock(jump)
        decisions.append(life.ask(answer))
    return life, decisions


@settings(max_examples=examples(40))
@given(politenesses, steps)
def test_in_no_window_of_true_time_leave_more_than_rate_and_bursts_allow(
    politeness: Politeness, history: list[tuple[Answer, float, float]]
) -> None:
    """A clock that is set ahead counts as a rest, once: it lets one burst more leave."""
    life, _ = lived(politeness, history)
    for first, last in combinations(range(len(life.sent)), 2):
        since, until = life.sent[first], life.sent[last]
        bursts = 1 + sum(since <= jump <= until for jump in life.jumps_ahead)
        allowed = bursts * politeness.burst + politeness.requests_per_second * (until - since)
        assert last - first + 1 <= allowed + 1e-3


@settings(max_examples=examples(40))
@given(politenesses, steps)
def test_a_host_that_recovers_is_asked_again_within_a_day_whatever_it_did_and_the_clock_does(
    politeness: Politeness, history: list[tuple[Answer, float, float]]
) -> None:
    life, _ = lived(politeness, history)
    assert life.wait_for_permit() <= LONGEST_OPEN_SECONDS + LONGEST_SPACING + 1
    life.ask(GOOD)
    assert not life.state.breaker.is_open
    for _ in range(400):  # and by and by at its full rate
        life.true_now += 5
        life.ask(GOOD)
    assert life.state.pace.factor == 1
    assert life.state.consecutive_failures == 0


@settings(max_examples=examples(40))
@given(politenesses, steps, st.sampled_from([-DAY, -60.0, 60.0, DAY, 400 * DAY, -400 * DAY]))
def test_a_clock_that_is_set_while_a_host_is_left_alone_leaves_it_alone_no_longer_than_a_day(
    politeness: Politeness, history: list[tuple[Answer, float, float]], jump: float
) -> None:
    life, _ = lived(politeness, history)
    before = hold_seconds(life.state, life.now)
    life.move_clock(jump)
    waited = life.wait_for_permit()
    assert waited <= LONGEST_OPEN_SECONDS + LONGEST_SPACING + 1
    if jump < 0:  # what was left to wait is left to wait
        assert waited >= before - 1e-3


@settings(max_examples=examples(40))
@given(politenesses, steps)
def test_what_a_host_asks_for_is_obeyed_up_to_a_quarter_of_an_hour_and_we_wait_no_longer_by_ourselves(
    politeness: Politeness, history: list[tuple[Answer, float, float]]
) -> None:
    _, decisions = lived(politeness, history)
    before = HostState()
    for (answer, _, _), decision in zip(history, decisions, strict=True):
        opened = decision.state.breaker.openings > before.breaker.openings
        if decision.retry:
            asked = {"120": 120.0, "9" * 12: LONGEST_WAIT_SECONDS}.get(
                answer.headers.get("retry-after", ""), 0
            )
            assert decision.wait_seconds is not None
            assert asked <= decision.wait_seconds
            assert decision.wait_seconds <= (LONGEST_OPEN_SECONDS if opened else LONGEST_WAIT_SECONDS)
        before = decision.state


@settings(max_examples=examples(40))
@given(politenesses, quiet_clock)
def test_five_failures_in_a_row_or_a_captcha_open_the_breaker_and_one_good_answer_closes_it(
    politeness: Politeness, history: list[tuple[Answer, float, float]]
) -> None:
    # slow answers open it too, and are tested by themselves
    quick = [(replace(answer, elapsed_seconds=0.1), rest, jump) for answer, rest, jump in history]
    in_a_row, is_open = 0, False
    for decision in lived(politeness, quick)[1]:
        in_a_row = in_a_row + 1 if decision.retry else 0
        opens = in_a_row >= FAILURES_TO_OPEN or decision.outcome == "captcha"
        is_open = decision.retry and (is_open or opens)
        assert decision.state.breaker.is_open == is_open
        assert decision.state.consecutive_failures == in_a_row
        assert SLOWEST <= decision.state.pace.factor <= 1
