"""Where sentences of clean text end."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from holocron_assets.languages.language import ENGLISH
from holocron_assets.signals.vocabulary import Stops, page_words

# Marks at the end of a sentence, with the quotes and brackets that close after them. Chinese and Japanese
# marks need no space after them; other marks do.
_END = re.compile(r"[.!?…؟۔।]+[\"'”’»)\]]*(?=\s|$)|[。！？]+[”’」』）]*")  # noqa: RUF001 - other scripts' marks are meant
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“‘«]+$")  # noqa: RUF001 - typographic quotes are meant
_PARAGRAPH_END = re.compile(r"\n\n")
_LONGEST_WORD = 40
# 3. or 19./20.
_ORDINAL = re.compile(r"(?:\d{1,3}\.?[/–-])?\d{1,3}")  # noqa: RUF001 - a dash between two numbers is meant
_INITIALS = re.compile(r"(?:\w\.)*\w", re.UNICODE)
_LONGEST_PARENTHESIS = 400


@cache
def _english() -> Stops:
    """The full stops of English; to read the file of a language takes a tenth of a second."""
    return page_words(ENGLISH).stops


def sentence_ends(text: str, stops: Stops | None = None) -> Iterator[int]:
    """Offsets just after each sentence of a text.

    Abbreviations and initials end no sentence, nor does a mark inside a short parenthesis. The text's own end
    counts only after a sentence mark.

    Args:
        text: clean text of one paragraph or more.
        stops: full stops of its language that end no sentence; by default the English ones.
    """
    position, known = 0, _english() if stops is None else stops
    for match in _END.finditer(text):
        if not _goes_on(text, match, known) and not _inside_parenthesis(text, position, match.end()):
            yield match.end()
            position = match.end()


def _goes_on(text: str, match: re.Match[str], stops: Stops) -> bool:
    following = text[match.end() : match.end() + 8].lstrip(" \"'“‘«([")  # noqa: RUF001 - typographic quotes are meant
    if following[:1].islower():
        return True
    if not match.group().startswith(".") or text[match.end() : match.end() + 1] == "\n":
        return False
    word = _WORD_BEFORE.search(text, max(match.start() - _LONGEST_WORD, 0), match.start())
    if word is None or match.end() == len(text):
        return False
    if stops.ordinals and match.group() == "." and _ORDINAL.fullmatch(word.group()):
        return True
    return _is_abbreviation(word.group(), stops.abbreviations)


@lru_cache(maxsize=4096)
def _is_abbreviation(word: str, abbreviations: frozenset[str]) -> bool:
    return word.lower() in abbreviations or (not word.isdigit() and _INITIALS.fullmatch(word) is not None)


def _inside_parenthesis(text: str, start: int, end: int) -> bool:
    opened = text.rfind("(", start, end)
    if opened < 0 or text.find(")", opened, end) >= 0:
        return False
    return text.find(")", end, end + _LONGEST_PARENTHESIS) >= 0


def first_sentence(text: str, longest: int, stops: Stops | None = None) -> str:
    """The first sentence of a text's first paragraph, cut between words if it is too long.

    Args:
        text: clean text.
        longest: the most characters.
        stops: as for `sentence_ends`.
    """
    paragraph = text.partition("\n")[0]
    end = next(sentence_ends(paragraph, stops), len(paragraph))
    return cut_between_words(paragraph[:end].strip(), longest)


def cut_at_sentence(
    text: str, shortest: int, longest: int, hard_limit: int, stops: Stops | None = None
) -> str:
    """The longest start of a text that ends with a sentence.

    Args:
        text: clean text.
        shortest: the least characters of the result, if the text has as many.
        longest: the most characters of the result, if a sentence ends before them.
        hard_limit: the most characters of the result in any case.
        stops: as for `sentence_ends`.
    """
    if len(text) <= longest:
        return text
    ends = {
        *sentence_ends(text[: hard_limit + 1], stops),
        *(match.start() for match in _PARAGRAPH_END.finditer(text)),
    }
    possible = sorted(end for end in ends if shortest <= end <= hard_limit)
    if within := [end for end in possible if end <= longest] or possible[:1]:
        return text[: within[-1]]
    return text if len(text) <= hard_limit else cut_between_words(text, hard_limit)


def cut_between_words(text: str, longest: int) -> str:
    """A text, or as many of its first words as fit."""
    if len(text) <= longest:
        return text
    # one more character shows whether a word ends exactly there
    words = text[: longest + 1].rsplit(None, 1)[0].rstrip()
    return words if len(words) <= longest else text[:longest]
