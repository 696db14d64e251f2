"""How many tokens a text is, at most, without asking a model."""

BYTES_PER_TOKEN = 3
"""UTF-8 bytes that make a token, at least, over a page's worth of text: see docs/interrogations.md."""

TOKENS_OF_A_TURN = 16
"""What a chat template writes around one message, at most."""


def estimate_tokens(text: str) -> int:
    """The tokens of a text, rather too many than too few.

    A server cuts what does not fit its context in silence, so an estimate that is too low loses evidence.

    Args:
        text: any text; also one that is no prose, such as wikitext or JSON.
    """
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)
