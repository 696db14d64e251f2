"""Answers a question: from what is known of entities first, then from passages. Otherwise it refuses."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect
from holocron_assets.retrieval.answers.questions import (
    GenderAsked,
    Subject,
    gender_asked,
    keys_asked,
    subjects,
)
from holocron_assets.retrieval.answers.reading import Reader
from holocron_assets.retrieval.answers.statements import (
    RELATIONS,
    Statement,
    genders_of,
    known_rows,
    standing_statements,
)
from holocron_assets.retrieval.index.full_text import name_words
from holocron_assets.retrieval.search import Hit, Searcher

NOT_HERE = "not in this wiki"

_PASSAGES = 5
_A_PAGE = 3
_NAMED = 50


@dataclass(frozen=True)
class Answer:
    """What a question got.

    Attributes:
        question: the question.
        statements: what answers it; none if it was refused.
        refusal: why there is no answer; None if there is one.
        nearest: the passages that were read, or that come nearest.
    """

    question: str
    statements: Sequence[Statement]
    refusal: str | None
    nearest: Sequence[Hit]

    def to_json(self) -> dict[str, Any]:
        """The answer for programs."""
        return {
            "question": self.question,
            "statements": [one.to_json() for one in self.statements],
            "refusal": self.refusal,
            "nearest": [hit.to_json() for hit in self.nearest],
        }


def answer(lake: Lake, searcher: Searcher, question: str, reader: Reader | None) -> Answer:
    """Answer a question.

    Args:
        lake: what is known.
        searcher: of the lake.
        question: in plain words, about something that it names.
        reader: reads passages; None where no model may be asked.

    Raises:
        HolocronError: the model that reads cannot be asked now.
    """
    named = subjects(question, searcher.names(question, _NAMED))
    if known := _known(lake, question, named):
        return Answer(question, known, None, ())
    hits = _passages(searcher, question, named)
    if reader is None:
        return Answer(question, (), f"{NOT_HERE}, as far as is known of entities; no model reads", hits)
    said = asyncio.run(reader.read(question, hits))
    if said is None or not _is_about(said, named):
        return Answer(question, (), NOT_HERE, hits)
    return Answer(question, (said,), None, hits)


def _known(lake: Lake, question: str, named: Sequence[Subject]) -> list[Statement]:
    """What is known of the entities that a question names, of the keys that it asks for."""
    found: list[Statement] = []
    with connect(lake, relations=RELATIONS, made_once=["superseded_answers"]) as connection:
        for subject in named:
            if entity := subject.row["entity_id"]:
                found += _answering(connection, question, subject, known_rows(connection, entity))
    return found


def _answering(
    connection: duckdb.DuckDBPyConnection, question: str, subject: Subject, rows: Sequence[Row]
) -> list[Statement]:
    """What answers among all that is known of an entity: of the best keys that a page still speaks of."""
    known = {row["key"] for row in rows}
    while asked := keys_asked(question, subject, known):
        found = standing_statements(connection, [row for row in rows if row["key"] in asked])
        if found:
            genders = {key: gender_asked(question, subject, key) for key in asked}
            return [one for one in found if _has_gender(genders[one.key or ""], one, connection)]
        known -= set(asked)
    return []


def _has_gender(gender: GenderAsked | None, said: Statement, connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether who answers is of the gender that is asked for, if one is."""
    if gender is None:
        return True
    known = genders_of(connection, [said.answer_id]) if said.answer_id else {}
    return gender.fits([value for values in known.values() for value in values], said.quote)


def _passages(searcher: Searcher, question: str, named: Sequence[Subject]) -> list[Hit]:
    """The passages to read: those of pages that the question names first, if it names any."""
    hits = searcher.search(question, 2 * _PASSAGES, a_page=_A_PAGE).hits
    titles = {(one.row["source"], one.row["title"]) for one in named}
    return sorted(hits, key=lambda hit: (hit.row["source"], hit.row["title"]) not in titles)[:_PASSAGES]


def _is_about(said: Statement, named: Sequence[Subject]) -> bool:
    """Whether a statement is about what the question names: its page is, or its words name it."""
    if not named:
        return True
    words = set(name_words(said.quote))
    return any(
        (one.row["source"], one.row["title"]) == (said.source, said.title)
        or set(name_words(one.name)) <= words
        for one in named
    )
