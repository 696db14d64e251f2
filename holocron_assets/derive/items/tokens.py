"""A high estimate of a text's tokens, without asking a model."""

import re

BYTES_PER_TOKEN = 3.3
"""Fewest UTF-8 bytes of words for each token, over a page of text: docs/interrogations.md."""

TOKENS_OF_A_TURN = 16
"""Most tokens that a chat template writes around one message."""

_TOKENS_OF_THEIR_OWN = re.compile(r"[0-9!-/:-@\[-`{-~]")
"""Digits and ASCII marks: tokenizers seldom join them with the characters next to them."""


def estimate_tokens(text: str) -> int:
    """The tokens of a text, as a high estimate.

    A server silently cuts what does not fit into its context, so a low estimate would lose evidence.

    Args:
        text: any text; wikitext or JSON, too.
    """
    own = len(_TOKENS_OF_THEIR_OWN.findall(text))
    return own + round((len(text.encode("utf-8", "replace")) - own) / BYTES_PER_TOKEN + 0.5)
