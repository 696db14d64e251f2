"""How much evidence fits a request beside the rest of it."""

from collections.abc import Callable

from holocron_assets.derive.evidence.bundles import Bundle
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.tokens import BYTES_PER_TOKEN, TOKENS_OF_A_TURN, estimate_tokens


def room_for_evidence(interrogation: Interrogation, system: str, question: str) -> int:
    """Tokens of evidence that fit a context beside prompt, question and answer; may be negative.

    Args:
        interrogation: what is asked, with the context's size.
        system: the part of the request that all items share.
        question: what is asked, filled in.
    """
    options = interrogation.options
    turns = 1 if interrogation.follow_up is None else 2
    # Redaction may lengthen a question, and a follow-up is filled in like it.
    fixed = [system, question, interrogation.follow_up or ""]
    used = sum(estimate_tokens(text) + TOKENS_OF_A_TURN for text in fixed) + turns * options.num_predict
    return options.num_ctx - used


def fitting(gather: Callable[[int], Bundle], room: int) -> Bundle:
    """The evidence, cut until it fits.

    Args:
        gather: gives it, cut to so many bytes.
        room: tokens that it may have.

    Raises:
        EvidenceError: it cannot be gathered.
    """
    bundle = gather(int(room * BYTES_PER_TOKEN))
    while bundle.items and (tokens := estimate_tokens(bundle.text)) > room:
        # What it is made of shows only when it is there: numbers take more tokens than words.
        size = len(bundle.text.encode())
        bundle = gather(min(size - 1, size * room // tokens))
    return bundle
