"""The engine: asks a model about items through the official client, and gives the outcomes."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import replace
from time import monotonic
from typing import Any, Literal, TypeVar, cast

from holocron_assets.derive.engine.bounded_client import is_broken_connection, open_client
from holocron_assets.derive.engine.call_report import call_attributes, report_call
from holocron_assets.derive.engine.call_times import CallTimes
from holocron_assets.derive.engine.calls import (
    KEEP_ALIVE,
    ChosenModel,
    Exchange,
    Outcome,
    Reply,
    Request,
    new_call_id,
)
from holocron_assets.derive.engine.listening import (
    another_model,
    digests_by_name,
    heard,
    is_same,
    only_thought,
)
from holocron_assets.derive.engine.official_client import ollama
from holocron_assets.derive.engine.outcomes import Attempt
from holocron_assets.derive.engine.overflow import was_cut
from holocron_assets.derive.engine.problems import (
    PERHAPS_SERVERS_FAULT,
    ContextTooSmallError,
    Failure,
    ModelMissingError,
    failure_of_call,
    problem_of,
    refused_schema,
)
from holocron_assets.derive.engine.replies import (
    InvalidAnswerError,
    MalformedReplyError,
    check_answer,
    read_reply,
)
from holocron_assets.derive.engine.tries import PAUSES, Try, Turn, busy_pause, first_try
from holocron_assets.derive.interrogations.follow_ups import FollowUpDecision
from holocron_assets.derive.interrogations.templates import TemplateError
from holocron_assets.derive.items.items import Item
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.tracebacks import traceback_of
from holocron_assets.telemetry.context import about
from holocron_assets.telemetry.spans import span

__all__ = ["Engine", "open_client"]

_QUICK_SECONDS = 30.0
_WHO_SECONDS = 3.0  # an answer is in hand, and waits
_LOAD_SECONDS = 600.0
_MOST_IN_A_ROW = 3
"""After so many failed calls in a row that may be the server's fault, the run stops."""
_TRIES_OF_A_CHECK = 2
"""The first may be sent on a connection that the server is about to close, after a broken reply."""
_SIMPLE_SCHEMA = {"type": "object", "properties": {"is_good": {"type": "boolean"}}, "required": ["is_good"]}
_T = TypeVar("_T")


class Engine:
    """Asks models. It belongs to one event loop; several calls may be under way at once."""

    def __init__(
        self,
        client: ollama.AsyncClient,
        *,
        run_id: str = "",
        tag: str | None = None,
        fetch_command: str = "ollama pull",
        around_call: Callable[[], AbstractAsyncContextManager[object]] = nullcontext,
    ) -> None:
        """Make an engine that sends nothing yet.

        Args:
            client: the client of the server that is asked.
            run_id: the run that asks.
            tag: name of the experiment that asks; None for work.
            fetch_command: the command that gets the server a model that it lacks, for messages.
            around_call: entered around every call about an item, before its time begins to run; a pause
                between two tries is outside. If it raises, the attempt ends, and `answer` raises the same.
        """
        self._client = client
        self._run_id = run_id
        self._tag = tag
        self._fetch_command = fetch_command
        self._around_call = around_call
        self._times = CallTimes()
        self._failed_in_a_row = 0

    async def models(self) -> dict[str, str]:
        """Digests of the models that the server has, by name, with and without the tag 'latest'.

        Raises:
            ModelServerUnavailable: it does not answer.
        """
        return digests_by_name((await self.answered(self._client.list())).models)

    async def digest(self, names: Iterable[str]) -> ChosenModel:
        """The first of some models that the server has.

        Args:
            names: models that may be asked, best first.

        Raises:
            ModelMissingError: it has none of them.
            ModelServerUnavailable: it does not answer.
        """
        wanted = tuple(names)
        found = await self.models()
        for name in wanted:
            if name in found:
                return ChosenModel(name, found[name])
        others = f", or one of {', '.join(wanted[1:])}" if wanted[1:] else ""
        raise ModelMissingError(
            f"the model server lacks {wanted[0]}{others}; get it with `{self._fetch_command} {wanted[0]}`"
        )

    async def warm_up(self, model: str, num_ctx: int) -> float:
        """Have the server load a model, and make sure that its context is as large as asked for.

        Args:
            model: which.
            num_ctx: tokens of its context.

        Returns:
            Seconds of loading, as the server states them. An Ollama states none: then it is the time until it
            answered, some milliseconds if the model was loaded.

        Raises:
            ContextTooSmallError: the model reads less, and the server would cut prompts in silence.
            ModelMissingError: the server lacks it.
            ModelTooLargeError: it does not fit into memory.
            ModelServerUnavailable: the server does not answer.
        """
        started = monotonic()
        response = await self.answered(self._loading(model, num_ctx), model=model, seconds=_LOAD_SECONDS)
        seconds = monotonic() - started
        for one in (await self.answered(self._client.ps())).models:
            if is_same(one.model or "", model) and one.context_length and one.context_length < num_ctx:
                raise ContextTooSmallError(
                    f"{model} reads {one.context_length} tokens at once, not {num_ctx}: lower "
                    f"options.num_ctx of the interrogations that ask it"
                )
        return seconds if response.load_duration is None else response.load_duration / 1e9

    def _loading(self, model: str, num_ctx: int) -> "Awaitable[ollama.ChatResponse | ollama.EmbedResponse]":
        return self._client.chat(model, messages=[], options={"num_ctx": num_ctx}, keep_alive=KEEP_ALIVE)

    async def unload(self, model: str) -> None:
        """Have the server forget a model now.

        Raises:
            ModelServerUnavailable: it does not answer.
        """
        await self.answered(self._client.chat(model, messages=[], keep_alive=0), model=model)

    async def answer(self, item: Item, *, model: str, digest: str, attempt: int) -> Outcome:
        """Ask about an item: at most three tries, and the follow-ups that its answers lead to.

        When it is cancelled, the call under way is given up, and its connection closed.

        Args:
            item: what to ask about.
            model: the model to ask.
            digest: the model's.
            attempt: which attempt at the item it is, from 1.

        Returns:
            The outcome, also where the item, the model or the server failed. Only errors that `around_call`
            raises are raised.
        """
        named = {"interrogation": item.interrogation.name, "partition": item.partition}
        with about(page=item.subject, **named):
            return await self._answer(item, model, digest, attempt)

    async def _answer(self, item: Item, model: str, digest: str, attempt: int) -> Outcome:
        made = Attempt(item, model, digest, attempt, run_id=self._run_id, tag=self._tag)
        if item.problem:
            return made.refused(item)
        trying: Try = first_try(item)
        while True:
            exchange, following = await self._asked(trying, made, model, digest)
            failure = exchange.failure
            if failure is None:
                if following is None:
                    return made.answered(exchange)
                if isinstance(following, Try):
                    trying = following
                    continue
                failure = following
            again = trying.after(failure)
            if again is None:
                failure, problem, counts = await self._judged(failure, trying, model)
                return made.failed(failure, problem, counts=counts)
            pause = PAUSES[-1] if failure.outcome == "out_of_memory" else PAUSES[trying.number - 1]
            await asyncio.sleep(pause)
            trying = again

    async def _asked(
        self, trying: Try, made: Attempt, model: str, digest: str
    ) -> tuple[Exchange, Try | Failure | None]:
        """Make a call, a few times while the server is busy, and give what follows; see `_follow_up`."""
        for again in itertools.count():
            async with self._around_call():
                exchange = await self._exchange(trying.request(model), digest)
            decision, following = _follow_up(trying, exchange)
            made.add(trying, exchange, decision)
            pause = busy_pause(exchange.failure, again)
            if pause is None:
                break
            await asyncio.sleep(pause)
        return exchange, following

    async def _judged(
        self, failure: Failure, trying: Try, model: str
    ) -> tuple[Failure, Exception | None, bool]:
        """The failure of an attempt, as people are told it; why the run has to stop; whether it counts."""
        is_unclear = failure.outcome in PERHAPS_SERVERS_FAULT
        blamed = await self._blamed(trying.request(model)) if is_unclear else "item"
        if blamed == "schema":
            failure = refused_schema(failure, trying.item.interrogation.name)
        is_servers = blamed in {"server", "either"}
        problem = problem_of(failure, model, self._fetch_command, utc_now(), is_servers=is_servers)
        return failure, problem, problem is None or blamed == "either"

    async def _blamed(self, request: Request) -> Literal["item", "schema", "server", "either"]:
        """What is to blame for a failed call: the server, if it fails without the item, too.

        Without this check, a server that is broken for a quarter of an hour would cost items their attempts.
        And an interrogation whose schema the server refuses would keep the model's others waiting for ever.
        If many calls fail, and only those about items, either may be to blame. Then the run stops, and the
        attempt counts: the next run would begin with the same items.
        """
        are_many = self._failed_in_a_row >= _MOST_IN_A_ROW
        nothing = request.about_nothing
        of_nothing = await self._failure_of(nothing)
        if of_nothing is None:
            return "either" if are_many else "item"
        # A server that refuses every schema is to blame itself.
        simple = replace(nothing, schema=_SIMPLE_SCHEMA)
        if not of_nothing.is_refusal or nothing.passages or await self._failure_of(simple):
            return "server"
        self._failed_in_a_row = 0
        return "schema"

    async def _failure_of(self, request: Request) -> Failure | None:
        """Why the server does not answer a request that is about no item; None if it does."""
        failure = None
        for _ in range(_TRIES_OF_A_CHECK):
            async with self._around_call():
                try:
                    async with self._times.limited(request.timeout_seconds):
                        await self._chat(request)
                except Exception as error:  # noqa: BLE001 - as in `_call`
                    seconds = request.timeout_seconds
                    failure = failure_of_call(error, model=request.model, timeout_seconds=seconds)
                    if not is_broken_connection(error):
                        return failure
                else:
                    return None
        return failure

    async def _exchange(self, request: Request, digest: str) -> Exchange:
        call_id = new_call_id()
        with (
            about(request_id=call_id),
            span(f"chat {request.model}", "client", call_attributes(request)) as made,
        ):
            exchange = await self._call(request, digest, call_id)
            report_call(exchange, made)
        return exchange

    async def _call(self, request: Request, digest: str, call_id: str) -> Exchange:
        started_at, started = utc_now(), monotonic()

        def ended(reply: Reply | None = None, **what: Any) -> Exchange:
            milliseconds = (monotonic() - started) * 1000
            return Exchange(request, started_at, milliseconds, reply, **what, call_id=call_id)

        try:
            async with self._times.limited(request.timeout_seconds):
                reply = await self._chat(request)
        except Exception as error:  # noqa: BLE001 - the client passes on whatever its transport raises
            failure = failure_of_call(error, model=request.model, timeout_seconds=request.timeout_seconds)
            failure = replace(failure, traceback=traceback_of(error))
            self._failed_in_a_row += failure.outcome in PERHAPS_SERVERS_FAULT
            return ended(failure=failure)
        self._failed_in_a_row = 0
        if another := await self._another_answers(request, digest):
            return ended(reply, failure=another)
        answer, strategy, refused = _read(request, reply)
        return ended(reply, answer=answer, parse_strategy=strategy, failure=refused)

    async def _chat(self, request: Request) -> Reply:
        pieces = await cast("Any", self._client).chat(**request.body)
        # The connection is closed at once in every case: the server works on as long as it is open.
        async with aclosing(cast("AsyncGenerator[ollama.ChatResponse, None]", pieces)) as given:
            return await heard(given, model=request.model, num_predict=int(request.options["num_predict"]))

    async def _another_answers(self, request: Request, digest: str) -> Failure | None:
        """What is wrong with the model that just answered; None if it is the one that the run began with."""
        try:
            async with asyncio.timeout(_WHO_SECONDS):
                running = (await self._client.ps()).models
        except Exception:  # noqa: BLE001 - if the server cannot say which model answered, the answer still counts
            return None
        return another_model(running, request, digest)

    async def answered(
        self, asking: Awaitable[_T], *, model: str = "", seconds: float = _QUICK_SECONDS
    ) -> _T:
        """What the server answers to something that is about no item.

        Args:
            asking: the request.
            model: the model that it is about; empty if about none.
            seconds: how long it may take.

        Raises:
            TransientError, PermanentError: it does not answer in time, or refuses; says what to do.
        """
        try:
            async with asyncio.timeout(seconds):
                return await asking
        except Exception as error:
            failure = failure_of_call(error, model=model or "the model server", timeout_seconds=seconds)
            problem = problem_of(failure, model, self._fetch_command, utc_now(), is_servers=True)
            if problem is None:
                raise
            # The reason says it all. The cause may repeat our key, and would be written to the log.
            raise problem from None


def _follow_up(trying: Try, exchange: Exchange) -> tuple[FollowUpDecision | None, Try | Failure | None]:
    """The decision after a call with the next question, or why that cannot be asked; None after the last."""
    if exchange.failure or exchange.answer is None or exchange.reply is None:
        return None, None
    try:
        decision = trying.item.following(trying.answers(exchange.answer))
    except TemplateError as error:
        reason = f"nothing can be asked about this answer: {error}"
        return None, Failure("invalid", reason, traceback_of(error))
    if decision is None or decision.question is None:
        return decision, None
    return decision, trying.followed_up(Turn(exchange.reply, exchange.answer, decision.question))


def _read(request: Request, reply: Reply) -> tuple[dict[str, Any] | None, str | None, Failure | None]:
    """An answer that counts and how it was read, or else why there is none."""
    num_ctx = request.options["num_ctx"]
    counted = {"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out}
    # A server counts the tokens of all passages together, and cuts each by itself.
    if not request.passages and was_cut(request.text, **counted, num_ctx=num_ctx):
        counts = f"the server counts {reply.tokens_in} tokens read and {reply.tokens_out} written"
        return None, None, Failure("overflow", f"the prompt did not fit into {num_ctx} tokens: {counts}")
    if unfinished := _unfinished(reply):
        return None, None, unfinished
    strategy = None
    try:
        answer, strategy = read_reply(reply.text)
        check_answer(answer, request.schema)
    except MalformedReplyError as error:
        return None, None, Failure("malformed", str(error), traceback_of(error))
    except InvalidAnswerError as error:
        return None, strategy, Failure("invalid", str(error), traceback_of(error))
    return answer, strategy, None


def _unfinished(reply: Reply) -> Failure | None:
    """Why a reply does not hold a whole answer; None if it may."""
    if reply.runaway:
        return Failure("malformed", reply.runaway)
    is_cut = reply.done_reason == "length"
    if reply.thought and not reply.text:
        reason = f"{only_thought(reply.tokens_out)}, or raise options.num_predict"
        return Failure("truncated" if is_cut else "malformed", reason)
    return Failure("truncated", f"it was cut off after {reply.tokens_out} tokens") if is_cut else None
