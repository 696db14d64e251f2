"""A prompt's tokens for a model, cut to the context as Ollama cuts them."""

from collections.abc import Awaitable, Callable

from holocron_assets.derive.server.process.loopback import Llama
from holocron_assets.derive.server.requests import BadRequestError, ChatRequest, GenerateRequest

Tokens = Callable[[Llama, int], Awaitable[list[int]]]
"""A prompt's tokens as a model reads them, for a context of so many."""


def chat_tokens(asked: ChatRequest) -> Tokens:
    """The tokens of a chat. Where it does not fit, its oldest messages are left out.

    The system's messages and the last one always stay; if these alone do not fit, their tokens are cut.
    """
    messages = [message.plain for message in asked.messages or ()]
    starts = range(len(messages)) if asked.may_cut else range(1)

    async def tokens_of(llama: Llama, num_ctx: int) -> list[int]:
        tokens: list[int] = []
        for start in starts:
            system = [message for message in messages[:start] if message["role"] == "system"]
            tokens = await llama.tokens_of(await llama.prompt_of([*system, *messages[start:]]))
            if len(tokens) < num_ctx:
                break
        return fit(tokens, num_ctx, may_cut=asked.may_cut, keep=asked.how.num_keep)

    return tokens_of


def prompt_tokens(asked: GenerateRequest) -> Tokens:
    """The tokens of a prompt: as a user's message after the system's one, or just as it is if it is raw."""
    text = asked.prompt or ""
    system = [{"role": "system", "content": asked.system}] if asked.system else []

    async def tokens_of(llama: Llama, num_ctx: int) -> list[int]:
        prompt = text if asked.raw else await llama.prompt_of([*system, {"role": "user", "content": text}])
        tokens = [*(asked.context or ()), *await llama.tokens_of(prompt)]
        return fit(tokens, num_ctx, may_cut=asked.may_cut, keep=asked.how.num_keep)

    return tokens_of


def fit(tokens: list[int], num_ctx: int, *, may_cut: bool, keep: int) -> list[int]:
    """Tokens that leave room for an answer: the first `keep` and the end of those that do not fit.

    Half of the context is then free for the answer, as with Ollama. The client can see it by
    `prompt_eval_count`.

    Raises:
        BadRequestError: they do not fit, and must not be cut.
    """
    if len(tokens) < num_ctx:
        return tokens
    if not may_cut:
        raise BadRequestError(
            f"the input length exceeds the context length: {len(tokens)} tokens, num_ctx is {num_ctx}"
        )
    first = max(0, min(keep, num_ctx - 1))
    last = num_ctx - max((num_ctx - first) // 2, 1) - first
    return tokens[:first] + (tokens[-last:] if last else [])
