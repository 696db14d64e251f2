"""Whether a server cut a prompt silently. It answers as if nothing were missing; only counts show it.

Ollama counts the tokens that it read after cutting, cached ones included. It cuts a prompt that is longer
than the context to half a context and a few tokens, and drops the oldest. A context that fills up while an
answer is written loses its older half as well. Newer servers refuse such a prompt instead.
"""

import re

_WORD_OR_NUMBER = re.compile(r"[^\W\d_]+|\d+")
_MARK = re.compile(r"[^\w\s]|_")
_LONGEST_TOKEN = 4
"""A low estimate of the characters in a token of a word: common tokenizers make longer tokens."""

_KEPT = 16
"""Tokens beyond half a context that may be left after cutting."""


def fewest_tokens(text: str) -> int:
    """Tokens of a text, at least: no tokenizer joins two words, or a word and a number, into one token."""
    return sum(1 for _ in _WORD_OR_NUMBER.finditer(text))


def most_tokens(text: str) -> int:
    """Tokens of a text, at most, except in rare scripts: long words are split, and a digit may be a token."""
    words = sum(
        len(part) if part.isdigit() or not part.isascii() else -(-len(part) // _LONGEST_TOKEN)
        for part in _WORD_OR_NUMBER.findall(text)
    )
    return words + sum(1 for _ in _MARK.finditer(text)) + text.count("\n")


def was_cut(text: str, *, tokens_in: int, tokens_out: int, num_ctx: int) -> bool:
    """Whether the model cannot have read its whole prompt, or lost some of it while it wrote.

    Args:
        text: the prompt.
        tokens_in: tokens of it that the server says it read; 0 if it does not say, which proves nothing.
        tokens_out: tokens that it wrote.
        num_ctx: tokens of the context that was asked for.
    """
    half = num_ctx // 2
    if tokens_in + tokens_out >= num_ctx:
        return True
    if tokens_in < half:  # an old server does not count cached tokens; none cuts to fewer than this
        return False
    if tokens_in < fewest_tokens(text):
        return True
    return half < tokens_in <= half + _KEPT and most_tokens(text) > num_ctx
