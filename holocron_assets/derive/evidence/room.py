"""How much evidence fits into a request with the rest of it."""

from collections.abc import Callable

from holocron_assets.derive.evidence.bundles import Bundle, EvidenceError
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.tokens import BYTES_PER_TOKEN, TOKENS_OF_A_TURN, estimate_tokens


def room_for_evidence(interrogation: Interrogation, system: str, question: str) -> int:
    """Tokens of evidence that fit into a context with prompt, question and answer; may be negative.

    Args:
        interrogation: what is asked, with the context's size.
        system: the part of the request that all items share.
        question: what is asked, filled in.
    """
    options = interrogation.options
    steps = interrogation.follow_up
    longest = [max(step.questions, key=estimate_tokens) for step in steps]
    # Redaction may lengthen a question, so the room of a follow-up is also kept where there is none.
    fixed = [system, question, *(longest or [""])]
    answers = (1 + len(steps)) * options.num_predict
    used = sum(estimate_tokens(text) + TOKENS_OF_A_TURN for text in fixed) + answers
    return options.num_ctx - used


def fitting(gather: Callable[[int], Bundle], room: int) -> Bundle:
    """The evidence, cut until it fits.

    Args:
        gather: a function that returns the evidence, cut to a number of bytes.
        room: the most tokens that it may have.

    Raises:
        EvidenceError: it cannot be gathered, or nothing of it fits.
    """
    bundle = gather(int(room * BYTES_PER_TOKEN))
    while bundle.items and (tokens := estimate_tokens(bundle.text)) > room:
        # Only the gathered text shows how many tokens it has: numbers take more than words.
        size = len(bundle.text.encode())
        bundle = gather(min(size - 1, size * room // tokens))
    if bundle.cuts and not bundle.items:
        raise EvidenceError("the question leaves no room for evidence: shorten it, or raise options.num_ctx")
    return bundle
