"""Answers of other interrogations about the same items: the rows that an interrogation builds on."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holocron_assets.derive.evidence.queries import QueryRows
from holocron_assets.derive.interrogations.answer_schema import sample_answer
from holocron_assets.derive.interrogations.derived_tables import Over
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.derived_rows import answer_rows
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import rows_there
from holocron_assets.lake.place.paths import Lake

ABOUT: Mapping[Over, tuple[str, ...]] = {
    "pages": ("title_key",),
    "pairs": ("first_id", "second_id"),
    "entities": ("entity_id",),
}
"""Columns that say what a row is about, in the tables of all interrogations."""

Subject = tuple[Any, ...]
"""The subject of a row: the values of those columns."""


def subject_of(over: Over, row: Row) -> Subject:
    """The subject of a row of a page, a pair or an entity."""
    return tuple(row[name] for name in ABOUT[over])


@dataclass(frozen=True)
class InputAnswers:
    """The answers of the inputs about one partition's items.

    Attributes:
        columns: of each input's rows, by its key.
        rows: each input's rows about each subject.
    """

    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rows: Mapping[str, Mapping[Subject, Sequence[Row]]] = field(default_factory=dict)

    def about(self, subject: Subject) -> dict[str, list[Row]]:
        """The rows about a subject, by the inputs' keys."""
        return {key: list(found.get(subject, ())) for key, found in self.rows.items()}

    def hash_of(self, subject: Subject) -> str | None:
        """A hash of their answers about a subject; None where there are no inputs."""
        if not self.rows:
            return None
        return content_hash(json.dumps(self.about(subject), default=str))

    def tables(self, subject: Subject) -> dict[str, QueryRows]:
        """The same as tables, for evidence."""
        return {
            key: QueryRows(names, tuple(tuple(row[name] for name in names) for row in rows))
            for (key, rows), names in zip(self.about(subject).items(), self.columns.values(), strict=True)
        }


def input_answers(lake: Lake, interrogation: Interrogation, partition: str) -> InputAnswers:
    """Read the answers of an interrogation's inputs about a partition's items.

    Args:
        lake: where.
        interrogation: the interrogation that has the inputs.
        partition: a batch; for pairs, an entity type.
    """
    columns, rows = {}, {}
    for one in interrogation.upstream:
        columns[one.key] = _columns(one)
        rows[one.key] = _by_subject(lake, one, partition)
    return InputAnswers(columns, rows)


def input_variables(
    interrogation: Interrogation, rows: Mapping[str, Sequence[Row]]
) -> dict[str, Mapping[str, Sequence[Row]]]:
    """The values of inputs that a template may name; empty where there are no inputs."""
    return {"inputs": rows} if interrogation.inputs else {}


def sample_inputs(interrogation: Interrogation) -> dict[str, list[dict[str, Any]]]:
    """Rows of made-up answers, by input, to try templates with."""
    return {
        one.key: [{**row, "supported": True} for row in answer_rows(one, sample_answer(one.answer_schema))]
        for one in interrogation.upstream
    }


def _columns(one: Interrogation) -> tuple[str, ...]:
    """The columns of the answer itself, without its origin: the same answer again changes no question."""
    return (*one.answer_columns, "supported")


def _by_subject(lake: Lake, one: Interrogation, partition: str) -> Mapping[Subject, Sequence[Row]]:
    columns = _columns(one)
    found: dict[Subject, list[Row]] = defaultdict(list)
    for row in rows_there(lake, one.table, partition, (*ABOUT[one.over], *columns)):
        found[subject_of(one.over, row)].append({name: row[name] for name in columns})
    return found
