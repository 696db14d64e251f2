"""What is asked of a model, what it replied, and what came of an item."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holocron_assets.derive.engine.problems import Failure
from holocron_assets.lake.declaration.schema import Row

if TYPE_CHECKING:
    from holocron_assets.derive.engine.official_client import ollama

_NANOSECONDS_PER_MS = 1e6
_MOST = 1 << 53

Status = Literal["ok", "failed", "dead"]
"""What became of an item, as in table `llm_runs`."""

Message = Mapping[str, str]


def new_call_id() -> str:
    """The id of a call that is not made yet."""
    return uuid.uuid4().hex


class ChosenModel(NamedTuple):
    """A model that the server has.

    Attributes:
        name: as the server calls it.
        digest: SHA-256 of the model, by the server.
    """

    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Request:
    """One call, as it is sent.

    Attributes:
        model: the model's name.
        messages: role and content of each turn.
        schema: JSON schema that the reply is kept to.
        options: what the server is told beside.
        timeout_seconds: how long the call may take in all.
    """

    model: str
    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    options: Mapping[str, Any]
    timeout_seconds: float

    @property
    def text(self) -> str:
        """All that the model reads, but what its template adds."""
        return "\n".join(message["content"] for message in self.messages)

    @property
    def about_nothing(self) -> "Request":
        """The same without its item: a server that cannot answer this either is not well."""
        asked = {"role": "user", "content": "There is no evidence. Answer with anything."}
        return replace(self, messages=(*self.messages[:1], asked), options={**self.options, "num_predict": 1})


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered to one call.

    Attributes:
        text: what the model wrote.
        done_reason: why it stopped, by the server.
        tokens_in: tokens of the prompt; 0 where the server does not tell.
        tokens_out: tokens written.
        load_ms: milliseconds of loading the model.
        prompt_ms: milliseconds of reading the prompt.
        generation_ms: milliseconds of writing.
        runaway: why it was not heard to its end, which was not in sight; None if it was.
    """

    text: str
    done_reason: str | None
    tokens_in: int
    tokens_out: int
    load_ms: float
    prompt_ms: float
    generation_ms: float
    runaway: str | None = None

    @classmethod
    def of(cls, last: "ollama.ChatResponse", text: str, *, runaway: str | None = None) -> "Reply":
        """A reply, from the last of the client's responses and the text of all.

        Args:
            last: with the server's figures, if it was heard to its end.
            text: all that was written.
            runaway: why it was not.
        """
        return cls(
            text=text,
            done_reason=last.done_reason,
            tokens_in=_count(last.prompt_eval_count),
            tokens_out=_count(last.eval_count),
            load_ms=_count(last.load_duration) / _NANOSECONDS_PER_MS,
            prompt_ms=_count(last.prompt_eval_duration) / _NANOSECONDS_PER_MS,
            generation_ms=_count(last.eval_duration) / _NANOSECONDS_PER_MS,
            runaway=runaway,
        )


def _count(told: int | None) -> int:
    """A number of tokens or nanoseconds as a column takes it, whatever a server tells."""
    return min(max(told or 0, 0), _MOST)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call and what came of it.

    Attributes:
        request: what was sent.
        started_at: when.
        total_ms: milliseconds until the answer's end, by our clock.
        reply: what was answered, if anything was.
        answer: the answer as data; None if there is none that counts.
        parse_strategy: how the reply was read.
        failure: why there is no answer that counts.
        call_id: names the call in the table, in log lines, and to the server.
    """

    request: Request
    started_at: datetime
    total_ms: float
    reply: Reply | None = None
    answer: dict[str, Any] | None = None
    parse_strategy: str | None = None
    failure: Failure | None = None
    call_id: str = field(default_factory=new_call_id)

    def row(self, **of_item: Any) -> dict[str, Any]:
        """The row of table `llm_attempts`.

        Args:
            of_item: the columns that say whose call it was.
        """
        reply = self.reply
        return {
            "call_id": self.call_id,
            "model": self.request.model,
            "started_at": self.started_at,
            "outcome": self.failure.outcome if self.failure else "ok",
            "parse_strategy": self.parse_strategy,
            "done_reason": reply.done_reason if reply else None,
            "tokens_in": reply.tokens_in if reply else 0,
            "tokens_out": reply.tokens_out if reply else 0,
            "load_ms": reply.load_ms if reply else 0.0,
            "prompt_ms": reply.prompt_ms if reply else 0.0,
            "generation_ms": reply.generation_ms if reply else 0.0,
            "total_ms": self.total_ms,
            "error": self.failure.reason if self.failure else None,
            **of_item,
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one attempt at an item.

    Attributes:
        status: 'ok', 'failed' (it is due again) or 'dead'.
        answer: the answer as data, valid by the schema.
        error: what went wrong, naming the item.
        parse_strategy: how the reply that counts was read.
        due_at: when a failed item may be tried again.
        calls: rows of table `llm_attempts`, one a call.
        exchanges: the calls themselves, in the same order.
        counts: whether the attempt counts against the item. It does not where the server or we ended it.
        problem: what the run has to stop for, because other items would fare no better.
        run_id: the run that made the attempt, where no call tells.
    """

    status: Status
    answer: dict[str, Any] | None = None
    error: str | None = None
    parse_strategy: str | None = None
    due_at: datetime | None = None
    calls: tuple[Row, ...] = ()
    exchanges: tuple[Exchange, ...] = field(default=(), repr=False)
    counts: bool = True
    problem: Exception | None = None
    run_id: str = ""
