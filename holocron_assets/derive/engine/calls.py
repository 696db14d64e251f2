"""Requests to a model, its replies, and the outcome of an item."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holocron_assets.derive.engine.problems import Failure
from holocron_assets.derive.interrogations.answer_schema import enforceable
from holocron_assets.lake.declaration.schema import Row

if TYPE_CHECKING:
    from holocron_assets.derive.engine.official_client import ollama
    from holocron_assets.derive.evidence.bundles import Bundle

KEEP_ALIVE = "15m"
"""How long a server keeps a model after a call: longer than the longest wait between attempts."""

_NANOSECONDS_PER_MS = 1e6
_MOST = 1 << 53

Status = Literal["ok", "failed", "dead"]
"""The status of an item, as in table `llm_runs`."""

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
        messages: role and content of each.
        schema: the JSON schema of the reply, which the server enforces as far as it can.
        options: further options for the server.
        timeout_seconds: how long the call may take, without its time in line behind other calls.
        passages: texts to embed, by the ids of passages; where a model is to write, none.
    """

    model: str
    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    options: Mapping[str, Any]
    timeout_seconds: float
    passages: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> dict[str, Any]:
        """The body that is sent: to `/api/embed` if there are passages, else to `/api/chat`."""
        if self.passages:
            return {
                "model": self.model,
                "input": list(self.passages.values()),
                "options": {"num_ctx": self.options["num_ctx"]},
                "keep_alive": KEEP_ALIVE,
            }
        return {
            "model": self.model,
            "messages": [dict(message) for message in self.messages],
            "format": enforceable(self.schema),
            "options": dict(self.options),
            "think": False,
            "keep_alive": KEEP_ALIVE,
            "stream": True,
        }

    @property
    def text(self) -> str:
        """All that the model reads, except what its template adds."""
        return "\n".join(message["content"] for message in self.messages)

    @property
    def about_nothing(self) -> "Request":
        """The same request without its item: a server that cannot answer even this is broken."""
        asked = {"role": "user", "content": "There is no evidence. Answer with anything."}
        messages = (*self.messages[:1], asked)
        passages = {"": "nothing"} if self.passages else {}
        return replace(self, messages=messages, passages=passages, options={**self.options, "num_predict": 1})


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's answer to one call.

    Attributes:
        text: what the model wrote.
        done_reason: why it stopped, by the server.
        tokens_in: tokens of the prompt; 0 where the server does not say.
        tokens_out: tokens written.
        load_ms: milliseconds of loading the model.
        prompt_ms: milliseconds of reading the prompt.
        generation_ms: milliseconds of writing.
        runaway: why reading stopped before the end; None if the reply was read to its end.
        thought: characters that the model thought before it wrote.
        last: the server's last response, as it came: its figures, without the text of those before.
    """

    text: str
    done_reason: str | None
    tokens_in: int
    tokens_out: int
    load_ms: float
    prompt_ms: float
    generation_ms: float
    runaway: str | None = None
    thought: int = 0
    last: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, last: "ollama.ChatResponse", text: str, *, thought: int = 0, runaway: str | None = None
    ) -> "Reply":
        """A reply, from the last of the client's responses and the text of all.

        Args:
            last: the last response, with the server's figures if the reply was read to its end.
            text: all that was written.
            thought: characters of its thoughts.
            runaway: why it was not read to its end.
        """
        return cls(
            text=text,
            done_reason=last.done_reason,
            tokens_in=bounded(last.prompt_eval_count),
            tokens_out=bounded(last.eval_count),
            load_ms=bounded(last.load_duration) / _NANOSECONDS_PER_MS,
            prompt_ms=bounded(last.prompt_eval_duration) / _NANOSECONDS_PER_MS,
            generation_ms=bounded(last.eval_duration) / _NANOSECONDS_PER_MS,
            runaway=runaway,
            thought=thought,
            last=last.model_dump(mode="json", exclude_none=True),
        )


def bounded(number: int | None) -> int:
    """A number of tokens or nanoseconds that fits a column, whatever number a server gives."""
    return min(max(number or 0, 0), _MOST)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call and its outcome.

    Attributes:
        request: what was sent.
        started_at: when.
        total_ms: milliseconds until the answer's end, by our clock.
        reply: the server's reply, if there was one.
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
            of_item: the columns that name the item of the call.
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
    """The outcome of one attempt at an item.

    Attributes:
        status: 'ok', 'failed' (it is due again) or 'dead'.
        answer: the answer as data, valid by the schema.
        error: what went wrong, naming the item.
        traceback: that of the error behind it, if there was one.
        parse_strategy: how the reply that counts was read.
        due_at: when a failed item may be tried again.
        calls: rows of table `llm_attempts`, one a call.
        exchanges: the calls themselves, in the same order.
        bundle: the evidence that the last call showed, perhaps less than the item's; None without a call.
        counts: whether the attempt counts against the item. It does not if the server or this run ended it.
        problem: why the run has to stop, because other items would fail, too.
        run_id: the run that made the attempt, where no call says so.
    """

    status: Status
    answer: dict[str, Any] | None = None
    error: str | None = None
    traceback: str | None = field(default=None, repr=False)
    parse_strategy: str | None = None
    due_at: datetime | None = None
    calls: tuple[Row, ...] = ()
    exchanges: tuple[Exchange, ...] = field(default=(), repr=False)
    bundle: "Bundle | None" = field(default=None, repr=False)
    counts: bool = True
    problem: Exception | None = None
    run_id: str = ""
