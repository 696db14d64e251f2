"""Runs of apostrophes: which are bold or italic marks, and which are apostrophes.

Source of the rules: MediaWiki's `Parser::doQuotes`.
"""

import re
from collections.abc import Iterator

from holocron_assets.signals.hidden import protected, replaced

_RUN = re.compile("'{2,}")
_ITALIC, _BOLD, _BOTH = 2, 3, 5


def without_quotes(text: str) -> str:
    """The text without bold and italic marks; a possessive such as `''Falcon'''s` keeps its apostrophe."""
    return "\n".join(map(_line_without_quotes, text.split("\n"))) if "''" in text else text


def with_apostrophes(text: str) -> str:
    """The text at unchanged length, with each apostrophe before a mark made meaningless, as in nowiki.

    What is left of a run is its mark: two, three or five apostrophes.
    """
    return "\n".join(map(_line_with_apostrophes, text.split("\n"))) if "'''" in text else text


def _line_without_quotes(line: str) -> str:
    return replaced(line, ((start, end, line[start : end - mark]) for start, end, mark in _runs(line)))


def _line_with_apostrophes(line: str) -> str:
    return replaced(
        line,
        ((start, end - mark, protected(line[start : end - mark], "'")) for start, end, mark in _runs(line)),
    )


def _runs(line: str) -> Iterator[tuple[int, int, int]]:
    """Start and end of each run of a line, and how many apostrophes at its end form a mark."""
    if "''" not in line:
        return
    runs = list(_RUN.finditer(line))
    marks = [_mark(len(run.group())) for run in runs]
    bolds = [place for place, mark in enumerate(marks) if mark in (_BOLD, _BOTH)]
    italics = [place for place, mark in enumerate(marks) if mark in (_ITALIC, _BOTH)]
    if len(bolds) % 2 and len(italics) % 2:
        spare = _apostrophe_and_italic(line, runs, marks)
        if spare is not None:
            marks[spare] = _ITALIC
    for run, mark in zip(runs, marks, strict=True):
        yield *run.span(), mark


def _mark(length: int) -> int:
    """How many apostrophes of a run form a mark; those before it are text."""
    if length >= _BOTH:
        return _BOTH
    return _BOLD if length > _ITALIC else _ITALIC


def _apostrophe_and_italic(line: str, runs: list[re.Match[str]], marks: list[int]) -> int | None:
    """The bold mark that is read as an apostrophe and an italic mark, if both sorts have one unpaired."""
    after_space = after_word = None
    for place, (run, mark) in enumerate(zip(runs, marks, strict=True)):
        if mark != _BOLD:
            continue
        before = line[max(run.end() - _BOLD - 2, 0) : run.end() - _BOLD]
        if before.endswith(" "):
            after_space = place if after_space is None else after_space
        elif before[:1] == " ":
            return place
        else:
            after_word = place if after_word is None else after_word
    return after_space if after_word is None else after_word
