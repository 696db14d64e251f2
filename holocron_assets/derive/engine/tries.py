"""How an item is asked about, and how otherwise after a reply that could not be used.

At temperature 0 the same question gets the same reply, so each try differs: it names what was wrong, has room
for a longer answer, or shows less evidence.
"""

from dataclasses import dataclass, replace

from holocron_assets.derive.engine.calls import Message, Reply, Request
from holocron_assets.derive.engine.overflow import most_tokens
from holocron_assets.derive.engine.problems import CallOutcome, Failure
from holocron_assets.derive.interrogations.items import Item
from holocron_assets.derive.interrogations.prompting import TemplateError, user_part
from holocron_assets.derive.interrogations.tokens import TOKENS_OF_A_TURN, estimate_tokens

MOST_TRIES = 3
"""Tries within an attempt."""

PAUSES = (0.25, 1.0, 2.5)
"""Seconds before the second and the third try; the last is for a server that makes room in its memory."""

_MOST_EVIDENCE_KEPT = 0.7
_LEAST_EVIDENCE_KEPT = 0.1
_CORRECTED: frozenset[CallOutcome] = frozenset({"malformed", "invalid", "truncated"})


@dataclass(frozen=True, slots=True)
class Try:
    """One way of asking about an item.

    Attributes:
        item: what is asked about, perhaps with less evidence than at first.
        num_predict: tokens that an answer may have.
        number: which try of the attempt it is, from 1.
        reason: what the try before came to.
        correction: what is said after the question, about the reply before.
        first: the reply that the follow-up speaks of; None while the question is asked.
        follow_up: what is asked about it.
    """

    item: Item
    num_predict: int
    number: int = 1
    reason: CallOutcome | None = None
    correction: str | None = None
    first: Reply | None = None
    follow_up: str | None = None

    @property
    def turn(self) -> str:
        """The turn, as in table `llm_attempts`."""
        return "follow_up" if self.first else "question"

    @property
    def tokens_estimated(self) -> int:
        """Our estimate of the prompt's tokens; of what was counted before, the count."""
        correction = estimate_tokens(self.correction) if self.correction else 0
        if self.first is None:
            return self.item.estimated_tokens + correction
        said = self.first.tokens_in or self.item.estimated_tokens
        asked = estimate_tokens(self.follow_up or "") + 2 * TOKENS_OF_A_TURN
        return said + self.first.tokens_out + asked + correction

    @property
    def room(self) -> int:
        """Tokens that are left for an answer."""
        return self.item.interrogation.options.num_ctx - self.tokens_estimated

    def request(self, model: str) -> Request:
        """What is sent."""
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
        )

    def followed_up(self, reply: Reply, question: str) -> "Try | Failure":
        """The follow-up on a reply that was good; or why there is no room for it.

        Args:
            reply: the first one.
            question: what is asked about it.
        """
        following = replace(self, first=reply, follow_up=question, correction=None)
        wanted = self.item.interrogation.options.num_predict
        if following.room < wanted:
            return Failure(
                "overflow", f"after the first answer, {following.room} tokens are left for the second"
            )
        return replace(following, num_predict=min(self.num_predict, following.room))

    def after(self, failure: Failure) -> "Try | None":
        """The next try; None if this was the last, or another would come to the same."""
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
        """The same try from its question on, with less evidence; None if there is none that could go."""
        smaller = self.item.shrunk(self._evidence_kept())
        return (
            None
            if smaller is None
            else replace(self, item=smaller, correction=None, first=None, follow_up=None)
        )

    def _evidence_kept(self) -> float:
        """The share of the evidence that should fit: the estimate by bytes was too low for it."""
        evidence, system = self.item.bundle.text, self.item.system
        tokens = max(estimate_tokens(evidence), most_tokens(evidence), 1)
        fixed = max(estimate_tokens(system), most_tokens(system)) + self.tokens_estimated
        fixed -= estimate_tokens(evidence) + estimate_tokens(system)
        room = self.item.interrogation.options.num_ctx - self.num_predict - fixed
        return min(max(room / tokens, _LEAST_EVIDENCE_KEPT), _MOST_EVIDENCE_KEPT)

    def _messages(self) -> tuple[Message, ...]:
        messages = [_said("system", self.item.system), _said("user", self.item.user)]
        if self.first:
            # What it wrote may speak as if it were us, like the page that it read.
            messages += [
                _said("assistant", user_part("", self.first.text)),
                _said("user", self.follow_up or ""),
            ]
        if self.correction:
            messages[-1] = _said("user", f"{messages[-1]['content']}\n\n{self.correction}")
        return tuple(messages)

    def _correction(self, failure: Failure) -> str:
        said = f"Your last answer cannot be used: {failure.reason}. Answer again, with one JSON object only."
        try:
            told = self.item.retry_text(failure.reason)
        except TemplateError:  # it was made for another error; the item shall not lose its tries for that
            told = None
        return told or user_part("", said)


def first_try(item: Item) -> Try:
    """How an item is asked about at first."""
    return Try(item, item.interrogation.options.num_predict)


def _said(role: str, content: str) -> Message:
    # A model can write half of a surrogate pair, which no request can hold.
    return {"role": role, "content": content.encode("utf-8", "replace").decode()}
