"""Letters of scripts that put no space between words: how texts that have some become words."""

import re
import unicodedata
from functools import cache
from itertools import accumulate, chain

import tantivy

SPACELESS = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    r"\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Scripts that put no space between words, as ranges of a regular expression."""
HANGUL = r"\uac00-\ud7af"
"""The letters of Korean, which puts no space before particles; likewise."""

_SPACELESS = re.compile(f"[{SPACELESS}]")
_LETTER = r"\p{Alphabetic}\p{N}"
_SIGN = rf"[[{_LETTER}]&&[{SPACELESS}]]\p{{M}}*"
_OTHER = rf"[[{_LETTER}\p{{M}}]&&[^{SPACELESS}]]+"
_RUN = rf"[{_LETTER}][{_LETTER}\p{{M}}\p{{Cf}}]*"
"""Letters and digits with nothing between them that a reader sees."""


def has_signs(text: str) -> bool:
    """Whether a text has letters of such scripts."""
    return _SPACELESS.search(text) is not None


@cache
def signs_analyzer() -> tantivy.TextAnalyzer:
    """The letters of such scripts one by one, each with its marks; what is between them, as words."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.regex(f"{_SIGN}|{_OTHER}"))
    return builder.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.ascii_fold()).build()


def unbroken_runs(text: str) -> list[str]:
    """The letters and digits of a text between spaces and punctuation, whatever their scripts."""
    return list(_runs_analyzer().analyze(text))


def row_of_signs(text: str) -> tuple[tuple[int, str], ...]:
    """The letters of a text that must stand in a row, and words between them, each with its place there."""
    runs = [signs_analyzer().analyze(run) for run in unbroken_runs(text)]
    starts = accumulate((len(run) + 1 for run in runs), initial=0)  # the index has a gap, too
    return tuple(chain.from_iterable(map(enumerate, runs, starts)))


def is_mark(letter: str) -> bool:
    """Whether a letter is a mark: with it, the letter before is another one."""
    return letter != "" and unicodedata.category(letter).startswith("M")


@cache
def _runs_analyzer() -> tantivy.TextAnalyzer:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.regex(_RUN)).build()
