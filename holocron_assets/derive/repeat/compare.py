"""The answers to compare: an experiment with itself or with another, or a shadow with the live version."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.repeat.agreement import Answer, Compared
from holocron_assets.derive.repeat.experiments import RepeatError, answers_of
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS
from holocron_assets.lake.views.database import connect, query

_ANSWERS = """
    select interrogation, partition, item_id, subject, output
    from lake.llm_runs
    where interrogation || ' ' || prompt_version = any($versions) and status in ('ok', 'dead')
    order by all
"""


def compared_times(lake: Lake, tag: str) -> list[Compared]:
    """Each item's answers of one experiment, with each other.

    Raises:
        RepeatError: there is no such experiment, or nothing was asked twice.
    """
    items = _by_item(_experiment(lake, tag))
    compared = [Compared.within(subject, answers) for subject, answers in items.values() if len(answers) > 1]
    if not compared:
        raise RepeatError(f"tag {tag!r}: nothing was asked twice; ask again with a higher --times")
    return compared


def compared_tags(lake: Lake, tag: str, other_tag: str) -> list[Compared]:
    """Each item's answers of one experiment, with those of another.

    Raises:
        RepeatError: there is no such experiment, or they asked about different items.
    """
    return _between(_experiment(lake, tag), _experiment(lake, other_tag), f"tags {tag!r} and {other_tag!r}")


def compared_with_shadow(lake: Lake, live: Interrogation, shadow: Interrogation) -> list[Compared]:
    """Each item's answer by the live version of an interrogation, with that by its shadow.

    Answers to former prompts do not count.

    Raises:
        RepeatError: there is no item that both were asked about.
    """
    with connect(lake, tables=[LLM_RUNS]) as connection:
        rows = query(connection, _ANSWERS, {"versions": [_version(live), _version(shadow)]})
    ours, theirs = ([row for row in rows if row["interrogation"] == one.name] for one in (live, shadow))
    return _between(ours, theirs, f"{live.name} and {shadow.name}")


def _version(interrogation: Interrogation) -> str:
    return f"{interrogation.name} {interrogation.prompt_version}"


def _experiment(lake: Lake, tag: str) -> list[dict[str, Any]]:
    if rows := answers_of(lake, tag):
        return rows
    raise RepeatError(
        f"no experiment has the tag {tag!r}; `holocron repeat INTERROGATION --tag {tag}` makes one"
    )


def _between(
    rows: Iterable[Mapping[str, Any]], other_rows: Iterable[Mapping[str, Any]], both: str
) -> list[Compared]:
    items, others = _by_item(rows), _by_item(other_rows)
    compared = [
        Compared.between(subject, answers, others[item][1])
        for item, (subject, answers) in items.items()
        if item in others
    ]
    if not compared:
        raise RepeatError(f"{both} have no item in common")
    return compared


def _by_item(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[str, Sequence[Answer]]]:
    """Subject and answers of each item, by partition and item id."""
    answers: defaultdict[tuple[str, str], list[Answer]] = defaultdict(list)
    subjects: dict[tuple[str, str], str] = {}
    for row in rows:
        item = row["partition"], row["item_id"]
        answers[item].append(None if row["output"] is None else json.loads(row["output"]))
        subjects[item] = row["subject"]
    return {item: (subjects[item], answers[item]) for item in answers}
