"""A model reads passages for a question, and copies the words that answer it."""

import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from holocron_assets.derive.dispatch.pools import configured_places
from holocron_assets.derive.engine.calls import KEEP_ALIVE
from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.engine.listening import only_thought
from holocron_assets.derive.engine.overflow import was_cut
from holocron_assets.derive.engine.replies import MalformedReplyError, read_reply
from holocron_assets.derive.gpu.slots import GpuLock
from holocron_assets.derive.server.model_files.catalog import shipped_catalog
from holocron_assets.derive.server.process.connection import fetch_command, running_server
from holocron_assets.errors import PermanentError
from holocron_assets.lake.place.paths import Lake
from holocron_assets.retrieval.answers.statements import Statement, quoted
from holocron_assets.retrieval.search import Hit

if TYPE_CHECKING:
    import ollama

_PROMPT = files(__package__).joinpath("reading.md").read_text(encoding="utf-8")
_NUM_CTX, _NUM_PREDICT = 4096, 160
"""Tokens of question and answer together, as the shipped interrogations have them: another number would load
the model again. And tokens of an answer."""
_SECONDS = 300.0


class Reader:
    """A model that reads passages. One question at a time, between the calls of other work."""

    def __init__(self, lake: Lake, server: str, models: Sequence[str]) -> None:
        """Name the model server, and the models to ask, best first."""
        self._lake, self._server, self._models = lake, server, models

    async def read(self, question: str, hits: Sequence[Hit]) -> Statement | None:
        """The statement that answers a question; None if no passage says it, or the model did not copy it.

        Args:
            question: the question.
            hits: the passages, the best first.

        Raises:
            PermanentError: the server lacks the models, or the question is too long; says what to do.
            TransientError: the server does not answer in time, or another question goes first.
        """
        shown = [hit.row for hit in hits if hit.row["text"]]
        if not shown:
            return None
        async with open_client(self._server) as client:
            engine = Engine(client, fetch_command=fetch_command())
            chosen = await engine.digest(self._models)
            place = configured_places()(chosen.name)
            async with GpuLock(self._lake, f"a question: {question[:60]}", pool=place).reserved():
                await engine.warm_up(chosen.name, _NUM_CTX)
                messages = _messages(question, shown)
                asking = client.chat(
                    chosen.name,
                    messages=messages,
                    format=_schema(len(shown)),
                    options={"num_ctx": _NUM_CTX, "num_predict": _NUM_PREDICT, "temperature": 0.0, "seed": 0},
                    think=False,
                    keep_alive=KEEP_ALIVE,
                )
                reply = await engine.answered(asking, model=chosen.name, seconds=_SECONDS)
        _refuse_cut(messages, reply)
        if reply.message.thinking and not reply.message.content:
            raise PermanentError(f"{chosen.name}: {only_thought(reply.eval_count or 0)}")
        return _said(reply.message.content or "", shown)


def _refuse_cut(messages: Sequence[Mapping[str, str]], reply: "ollama.ChatResponse") -> None:
    """Raise PermanentError if the model cannot have read all of what it was given."""
    prompt = "".join(one["content"] for one in messages)
    tokens = {"tokens_in": reply.prompt_eval_count or 0, "tokens_out": reply.eval_count or 0}
    if was_cut(prompt, **tokens, num_ctx=_NUM_CTX):
        raise PermanentError(
            f"the question and the passages do not fit into {_NUM_CTX:,} tokens: ask a shorter question"
        )


def _messages(question: str, passages: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    shown = "\n\n".join(
        f"[{number}] {' - '.join((row['title'], *(row['headings'] or ())))}\n{row['text']}"
        for number, row in enumerate(passages, 1)
    )
    asked = f"Passages:\n\n{shown}\n\nQuestion: {question}"
    return [{"role": "system", "content": _PROMPT}, {"role": "user", "content": asked}]


def _schema(passages: int) -> dict[str, Any]:
    properties = {
        "passage": {"type": "integer", "minimum": 0, "maximum": passages},
        "quote": {"type": "string", "maxLength": 300},
        "answer": {"type": "string", "maxLength": 100},
    }
    return {"type": "object", "properties": properties, "required": list(properties)}


def _said(text: str, passages: Sequence[Mapping[str, Any]]) -> Statement | None:
    """The statement that a reply makes, if one of the passages has its quote."""
    try:
        reply, _ = read_reply(text)
    except MalformedReplyError:
        return None
    number, quote, answer = (reply.get(name) for name in ("passage", "quote", "answer"))
    if not isinstance(number, int) or not number or not isinstance(quote, str) or not isinstance(answer, str):
        return None
    # The quote may be of another passage than the model says: what counts is that a page has it.
    ordered = [*passages[number - 1 : number], *passages]
    return next((said for row in ordered if (said := quoted(row, quote, answer))), None)


def running_reader(lake: Lake) -> Reader | None:
    """The reader that asks the model server that runs; None if none runs, or no model may be asked.

    Raises:
        ModelServerError: HOLOCRON_LLM is none of its values, or OLLAMA_HOST no address.
    """
    server = running_server()
    return Reader(lake, server, reading_models()) if server else None


def reading_models(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The models that may read, best first: HOLOCRON_MODEL alone, or those of the catalog."""
    chosen, catalog = environment.get("HOLOCRON_MODEL"), shipped_catalog()
    return (chosen,) if chosen else (catalog.default, catalog.small)
