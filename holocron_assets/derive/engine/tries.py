"""How an item is asked about, and how it is asked again after a reply that could not be used.

At temperature 0 the same question gets the same reply, so each try differs: it says what was wrong, has room
for a longer answer, or shows less evidence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from holocron_assets.derive.engine.calls import Message, Reply, Request
from holocron_assets.derive.engine.overflow import most_tokens
from holocron_assets.derive.engine.problems import CallOutcome, Failure
from holocron_assets.derive.interrogations.templates import TemplateError
from holocron_assets.derive.items.items import Item
from holocron_assets.derive.items.passages import PagePassages
from holocron_assets.derive.items.prompting import user_part
from holocron_assets.derive.items.tokens import TOKENS_OF_A_TURN, estimate_tokens

MOST_TRIES = 3
"""Tries within an attempt."""

PAUSES = (0.25, 2.5)
"""Seconds before the second and the third try; after a lack of memory the longer one comes before both."""

BUSY_PAUSES = (2.0, 8.0, 30.0)
"""Seconds before a call is made again because the server is busy; longer if the server asks for longer."""

_LONGEST_BUSY_PAUSE = 60.0
_MOST_EVIDENCE_KEPT = 0.7
_LEAST_EVIDENCE_KEPT = 0.1
_CORRECTED: frozenset[CallOutcome] = frozenset({"malformed", "invalid", "truncated"})


@dataclass(frozen=True, slots=True)
class Turn:
    """A good reply, and the next question about it.

    Attributes:
        reply: as the server gave it.
        answer: the reply as data.
        question: the question about it.
    """

    reply: Reply
    answer: Mapping[str, Any]
    question: str


@dataclass(frozen=True, slots=True)
class Try:
    """One way of asking about an item.

    Attributes:
        item: what is asked about, perhaps with less evidence than at first.
        num_predict: tokens that an answer may have.
        number: which try of the attempt it is, from 1.
        reason: why the try before failed.
        correction: a text about the reply before, after the question.
        turns: replies so far, each with the question about it; empty while the first question is asked.
    """

    item: Item
    num_predict: int
    number: int = 1
    reason: CallOutcome | None = None
    correction: str | None = None
    turns: tuple[Turn, ...] = ()

    @property
    def turn(self) -> str:
        """The column `turn` of table `llm_attempts`."""
        number = len(self.turns)
        return ("question", "follow_up")[number] if number <= 1 else f"follow_up {number}"

    @property
    def tokens_estimated(self) -> int:
        """An estimate of the prompt's tokens; of the part that the server counted before, its count."""
        correction = estimate_tokens(self.correction) if self.correction else 0
        tokens = self.item.estimated_tokens
        for turn in self.turns:
            asked = estimate_tokens(turn.question) + 2 * TOKENS_OF_A_TURN
            tokens = (turn.reply.tokens_in or tokens) + turn.reply.tokens_out + asked
        return tokens + correction

    @property
    def room(self) -> int:
        """Tokens that are left for an answer."""
        return self.item.interrogation.options.num_ctx - self.tokens_estimated

    def request(self, model: str) -> Request:
        """The request to send."""
        interrogation = self.item.interrogation
        options = interrogation.options
        return Request(
            model=model,
            messages=self._messages(),
            schema=interrogation.answer_schema,
            options={
                "num_ctx": options.num_ctx,
                "num_predict": self.num_predict,
                "temperature": options.temperature,
                "seed": options.seed + self.number - 1,
            },
            timeout_seconds=interrogation.timeout_seconds,
            passages=self.item.given.texts if isinstance(self.item.given, PagePassages) else {},
        )

    def answers(self, answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """All answers so far, with `answer` as the last."""
        return [*(turn.answer for turn in self.turns), answer]

    def followed_up(self, turn: Turn) -> "Try | Failure":
        """The follow-up to a good reply; or why there is no room for it.

        Args:
            turn: the reply, and what is asked about it.
        """
        following = replace(self, turns=(*self.turns, turn), correction=None)
        wanted = self.item.interrogation.options.num_predict
        if following.room < wanted:
            number = len(following.turns)
            return Failure(
                "overflow", f"after answer {number}, {following.room} tokens are left for the next"
            )
        return replace(following, num_predict=min(self.num_predict, following.room))

    def after(self, failure: Failure) -> "Try | None":
        """The next try; None if this was the last, or the next would be the same."""
        if self.number == MOST_TRIES:
            return None
        following = replace(self, number=self.number + 1, reason=failure.outcome)
        if failure.outcome in _CORRECTED:
            following = replace(following, correction=self._correction(failure))
            longer = 2 * self.num_predict if failure.outcome == "truncated" else 0
            return replace(following, num_predict=max(self.num_predict, min(longer, following.room)))
        if failure.outcome == "overflow":
            return following.with_less_evidence()
        if failure.outcome == "out_of_memory" and self.reason != "out_of_memory":
            return following
        return None

    def with_less_evidence(self) -> "Try | None":
        """The same try from its question on, with less evidence; None if no evidence can be left out."""
        smaller = self.item.shrunk(self._evidence_kept())
        return None if smaller is None else replace(self, item=smaller, correction=None, turns=())

    def _evidence_kept(self) -> float:
        """The share of the evidence to keep, after the estimate by bytes was too low."""
        evidence, system = self.item.bundle.text, self.item.system
        tokens = max(estimate_tokens(evidence), most_tokens(evidence), 1)
        fixed = max(estimate_tokens(system), most_tokens(system)) + self.tokens_estimated
        fixed -= estimate_tokens(evidence) + estimate_tokens(system)
        room = self.item.interrogation.options.num_ctx - self.num_predict - fixed
        return min(max(room / tokens, _LEAST_EVIDENCE_KEPT), _MOST_EVIDENCE_KEPT)

    def _messages(self) -> tuple[Message, ...]:
        messages = [_chat_message("system", self.item.system), _chat_message("user", self.item.user)]
        for turn in self.turns:
            # A model's text may contain words that look like our instructions, as a page's may.
            messages += [
                _chat_message("assistant", user_part("", turn.reply.text)),
                _chat_message("user", turn.question),
            ]
        if self.correction:
            messages[-1] = _chat_message("user", f"{messages[-1]['content']}\n\n{self.correction}")
        return tuple(messages)

    def _correction(self, failure: Failure) -> str:
        message = (
            f"Your last answer cannot be used: {failure.reason}. Answer again, with one JSON object only."
        )
        try:
            text = self.item.retry_text(failure.reason)
        except TemplateError:  # the template was made for another error; the item keeps its tries
            text = None
        return text or user_part("", message)


def busy_pause(failure: Failure | None, made: int) -> float | None:
    """Seconds to wait before a call is made again as it was; None if not because the server is busy.

    A server that asks for a long time, or is busy again and again, is as good as none.

    Args:
        failure: the failure of the call; None if it gave an answer.
        made: how often it was made again already.
    """
    if failure is None or failure.busy_seconds is None or made >= len(BUSY_PAUSES):
        return None
    pause = max(BUSY_PAUSES[made], failure.busy_seconds)
    return pause if pause <= _LONGEST_BUSY_PAUSE else None


def first_try(item: Item) -> Try:
    """How an item is asked about at first."""
    return Try(item, item.interrogation.options.num_predict)


def _chat_message(role: str, content: str) -> Message:
    # A model can write half of a surrogate pair, which no request can hold.
    return {"role": role, "content": content.encode("utf-8", "replace").decode()}
