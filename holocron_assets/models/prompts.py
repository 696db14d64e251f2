"""What the model reads: a prompt's tokens, cut to the context as Ollama cuts them."""

from collections.abc import Sequence

from holocron_assets.models.loopback import Llama
from holocron_assets.models.requests import BadRequestError


async def chat_tokens(
    llama: Llama, messages: Sequence[dict[str, str]], num_ctx: int, *, truncate: bool, keep: int
) -> list[int]:
    """The tokens of a chat. Where it does not fit, its oldest messages are left out.

    The system's messages and the last one always stay; if these alone do not fit, their tokens are cut.

    Raises:
        BadRequestError: it does not fit, and must not be cut.
    """
    for start in range(len(messages) if truncate else 1):
        system = [message for message in messages[:start] if message["role"] == "system"]
        tokens = await llama.tokens_of(await llama.prompt_of([*system, *messages[start:]]))
        if len(tokens) < num_ctx:
            break
    return fit(tokens, num_ctx, truncate=truncate, keep=keep)


def fit(tokens: list[int], num_ctx: int, *, truncate: bool, keep: int) -> list[int]:
    """Tokens that leave room for an answer: the first `keep` and the end of those that do not fit.

    Half of the context is then free for the answer, as with Ollama. Who asks notices by `prompt_eval_count`.

    Raises:
        BadRequestError: they do not fit, and must not be cut.
    """
    if len(tokens) < num_ctx:
        return tokens
    if not truncate:
        raise BadRequestError(
            f"the input length exceeds the context length: {len(tokens)} tokens, num_ctx is {num_ctx}"
        )
    first = max(0, min(keep, num_ctx - 1))
    last = num_ctx - max((num_ctx - first) // 2, 1) - first
    return tokens[:first] + (tokens[-last:] if last else [])
