"""How many tokens a text is, at most, without asking a model."""

import re

BYTES_PER_TOKEN = 3.3
"""UTF-8 bytes of words that make a token, at least, over a page's worth of text: docs/interrogations.md."""

TOKENS_OF_A_TURN = 16
"""What a chat template writes around one message, at most."""

_TOKENS_OF_THEIR_OWN = re.compile(r"[0-9!-/:-@\[-`{-~]")
"""Digits and ASCII marks: tokenizers seldom join them with what stands beside them."""


def estimate_tokens(text: str) -> int:
    """The tokens of a text, rather too many than too few.

    A server cuts what does not fit its context in silence, so an estimate that is too low loses evidence.

    Args:
        text: any text; also one that is no prose, such as wikitext or JSON.
    """
    own = len(_TOKENS_OF_THEIR_OWN.findall(text))
    return own + round((len(text.encode("utf-8", "replace")) - own) / BYTES_PER_TOKEN + 0.5)
