"""Reads a reply while it is written: to its end, or until it clearly gives no answer."""

from collections.abc import AsyncIterable, Iterable

from holocron_assets.derive.engine.bounded_client import UnreadableReplyError
from holocron_assets.derive.engine.calls import Reply, Request
from holocron_assets.derive.engine.official_client import ollama
from holocron_assets.derive.engine.problems import Failure, WrongModelError

_MOST_WHITE = 200
"""Most characters of white space in a row. A model that writes more does not write anything else."""

_LONGEST_TOKEN = 64
"""Most characters of a token on average. A longer reply did not stop at its limit of tokens."""


async def heard(pieces: AsyncIterable[ollama.ChatResponse], *, model: str, num_predict: int) -> Reply:
    """Read a reply.

    Args:
        pieces: the pieces, as they come.
        model: the model that was asked.
        num_predict: the most tokens that it may have.

    Returns:
        The reply; its `runaway` says why it was not read to its end.

    Raises:
        UnreadableReplyError: it ended before it was done.
        WrongModelError: another model answered.
    """
    text, thought, last = "", 0, None
    async for last in pieces:
        refuse_another(last.model, model)
        text += last.message.content or ""
        thought += len(last.message.thinking or "")
        if runaway := _runaway(text, len(text) + thought, num_predict):
            return Reply.of(last, text, thought=thought, runaway=runaway)
    if last is None or not last.done:
        raise UnreadableReplyError("its reply ended before it was done")
    return Reply.of(last, text, thought=thought)


def only_thought(tokens: int) -> str:
    """Why a reply that is nothing but thoughts is no answer, and what to do.

    Args:
        tokens: those of the reply, by the server.
    """
    return f"the model thought for {tokens} tokens and wrote nothing: ask one that answers without thinking"


def another_model(
    running: Iterable[ollama.ProcessResponse.Model], request: Request, digest: str
) -> Failure | None:
    """Why the model that answered is not the one that was asked; None if it seems to be.

    The name stays the same when another model takes its place, or somebody loads it with less context.

    Args:
        running: the models that the server has loaded now.
        request: what was asked.
        digest: digest of the model that was asked.
    """
    for one in running:
        if not is_same(one.model or "", request.model):
            continue
        if one.digest and one.digest != digest:
            return Failure("wrong_model", f"{request.model} is another model than when the run began")
        if one.context_length and one.context_length < request.options["num_ctx"]:
            reason = f"{request.model} now reads no more than {one.context_length} tokens at once"
            return Failure("wrong_model", reason)
    return None


def _runaway(text: str, characters: int, num_predict: int) -> str | None:
    """Why a reply does not come to an end; None if it may."""
    end = text[-_MOST_WHITE:]
    if len(end) == _MOST_WHITE and end.isspace():
        return "it went on with white space"
    if characters > _LONGEST_TOKEN * num_predict:
        return f"it went on after {num_predict} tokens"
    return None


def refuse_another(answering: str | None, model: str) -> None:
    """Refuse the reply of another model than was asked.

    Raises:
        WrongModelError: a server says that another one answers.
    """
    if answering and not is_same(answering, model):
        raise WrongModelError(f"asked was {model}, and {answering[:100]} answered")


def digests_by_name(listed: Iterable[ollama.ListResponse.Model]) -> dict[str, str]:
    """Digests of the models that a server lists, by name, with and without the tag 'latest'."""
    full = {one.model: one.digest or "" for one in listed if one.model}
    return {name.removesuffix(":latest"): digest for name, digest in full.items()} | full


def is_same(name: str, other: str) -> bool:
    """Whether two names are of one model: a name without a tag is that of the latest."""
    return name.removesuffix(":latest") == other.removesuffix(":latest")
