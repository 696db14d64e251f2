"""Failures are grouped by cause: names of pages and texts of wikis and models make no separate causes."""

from pathlib import Path
from typing import Any

import pytest
from crawl_rows import outcome, put_outcomes
from knowledge_rows import row_of
from sample_holocron import sample_holocron
from test_snapshot import snapshot_of
from test_status_views import BATCH, FACTS, asked

from holocron_assets.derive.engine.replies import InvalidAnswerError, check_answer
from holocron_assets.derive.opening import open_lake
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_ATTEMPTS, LLM_RUNS, PAGE_SIGNALS, UNREAD_PAGES
from holocron_assets.operations.state.metrics import status_metrics

SCHEMA = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": ["Species", "Droid"]},
        "note": {"type": "string", "maxLength": 20},
        "names": {"type": "array", "maxItems": 1, "items": {"type": "string", "maxLength": 5}},
        "year": {"type": "number", "maximum": 5},
    },
    "additionalProperties": False,
}
WRITTEN = "He's \"Luke\", that's 'Skywalker' who is too long"
INVALID: dict[str, list[dict[str, Any]]] = {
    "answer.type: '...' is not one of": [
        {"type": text} for text in ("Luke", "a 'b' \"c\" d's", WRITTEN * 20)
    ],
    "answer.note: '...' is too long": [{"note": WRITTEN}, {"note": WRITTEN * 20}],
    "answer.note: '...' is not of type": [{"note": value} for value in (7, None, ["Luke"], {"Luke": 1})],
    "answer.names: '...' is too long": [{"names": ["Luke"] * number} for number in (2, 3, 50)],
    "answer.names.N: '...' is too long": [{"names": [WRITTEN]}],
    "answer.year: '...' is greater than": [{"year": year} for year in (6, 77.5)],
    "answer: Additional properties are not allowed ('...' was unexpected)": [{"Luke": 1}, {"Leia": 1}],
}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return open_lake(tmp_path)


def causes(lake: Lake, stage: str) -> dict[str, int]:
    rows = asked(lake, f"from failures where stage = '{stage}'")
    return {row["cause"]: row["failures"] for row in rows}


def problem(answer: dict[str, Any]) -> str:
    with pytest.raises(InvalidAnswerError) as refused:
        check_answer(answer, SCHEMA)
    return str(refused.value)


def put_failures(lake: Lake, *problems: tuple[str, str]) -> None:
    """Write calls and items that failed, with outcomes and what was wrong."""
    scope = f"{FACTS.name}-{BATCH}"
    of = {"scope": scope, "interrogation": FACTS.name, "partition": BATCH}
    calls, items = [], []
    for number, (what, error) in enumerate(problems):
        own = {**of, "item_id": str(number), "subject": f"Page {number}", "call_id": str(number)}
        call = {**own, "outcome": what, "error": error, "started_at": utc_now()}
        item = {**own, "status": "dead", "error": f"Page {number}: {error}", "finished_at": utc_now()}
        calls.append(row_of(LLM_ATTEMPTS, **call))
        items.append(row_of(LLM_RUNS, **{name: item[name] for name in item if name != "call_id"}))
    write_partition(lake, LLM_ATTEMPTS, scope, calls)
    write_partition(lake, LLM_RUNS, scope, items)


def test_what_a_model_wrote_is_in_no_cause_of_an_answer_that_does_not_fit(lake: Lake) -> None:
    put_failures(lake, *(("invalid", problem(one)) for answers in INVALID.values() for one in answers))
    expected = {cause: len(answers) for cause, answers in INVALID.items()}
    assert causes(lake, "interrogations") == expected
    assert causes(lake, "calls") == {f"invalid: {cause}": count for cause, count in expected.items()}


def test_replies_that_break_at_other_places_break_for_one_cause(lake: Lake) -> None:
    message = "the reply is no JSON object: Expecting ',' delimiter: line {0} column {0} (char {0})"
    put_failures(
        lake,
        *(("malformed", message.format(number)) for number in (1, 22, 333)),
        *(("malformed", f"the reply says {name!r} twice in one object") for name in ("Luke", 'Leia\'s "a"')),
        ("server_error", "the model server answered 500: boom"),
        ("server_error", "the model server answered 503: said 'and was cut he"),
    )
    assert causes(lake, "calls") == {
        "malformed: the reply is no JSON object: Expecting '...' delimiter: line N column N (char N)": 3,
        "malformed: the reply says '...' twice in one object": 2,
        "server_error: the model server answered 500: boom": 1,
        "server_error: the model server answered 503: said '...'": 1,
    }


def test_short_titles_split_no_cause(lake: Lake) -> None:
    errors = [(title, f"{title}: HTTP 503: the wiki's answer") for title in ("T", "5", "503", "é", "HTT")]
    errors += [
        ("A (b)", "'A (b)': the export has no A (b), or 'A (b)' twice"),
        ("Cut", "Cut: the export has no Cut, or 'Cut' twice"),
        ("Disk", "Disk: OSError: [Errno 28] No space left"),
    ]
    failed = [outcome(title, "failed", error=error, fetched_at=utc_now()) for title, error in errors]
    put_outcomes(lake, BATCH, *failed)
    assert causes(lake, "pages") == {
        "HTTP 503: the wiki's answer": 5,
        "the export has no '...', or '...' twice": 2,
        "OSError: [Errno 28] No space left": 1,
    }


def test_labels_hold_kinds_of_causes_and_nothing_that_was_written(tmp_path: Path) -> None:
    holocron, now = sample_holocron(tmp_path), utc_now()
    titles = ["Luke Skywalker", "Leia Organa", "Han Solo"]
    put_failures(
        holocron.lake,
        *(("invalid", problem({"type": title})) for title in titles),
        *(("malformed", f"the reply is no JSON object: {title} is no value") for title in titles),
        *(("server_error", f"the model server answered 500: {title} is too much") for title in titles),
    )
    failed = [
        outcome(title, "failed", error=f"{title}: HTTP 503: not {other}", fetched_at=now)
        for title, other in zip(titles, reversed(titles), strict=True)
    ]
    put_outcomes(holocron.lake, BATCH, *failed)
    scope = f"{BATCH}-{PAGE_SIGNALS.name}"
    died = {"scope": scope, "batch": BATCH, "step": PAGE_SIGNALS.name, "died_at": now}
    unread = [
        row_of(
            UNREAD_PAGES, **died, title=title, title_key=n, error=f"{title}: ValueError: no {titles[n - 1]}"
        )
        for n, title in enumerate(titles)
    ]
    write_partition(holocron.lake, UNREAD_PAGES, scope, unread)
    [metric] = [
        one for one in status_metrics(snapshot_of(holocron)) if one.name == "holocron_last_day_failures"
    ]
    found = {(sample.labels["stage"], sample.labels["cause"]): sample.value for sample in metric.samples}
    assert found == {
        ("calls", "invalid: answer.type: '...' is not one of"): 3,
        ("calls", "malformed"): 3,
        ("calls", "server_error"): 3,
        ("interrogations", "answer.type: '...' is not one of"): 3,
        ("interrogations", "the reply is no JSON object"): 3,
        ("interrogations", "the model server answered 500"): 3,
        ("pages", "HTTP 503"): 3,
        ("page_types", "page_signals: ValueError"): 3,
    }
