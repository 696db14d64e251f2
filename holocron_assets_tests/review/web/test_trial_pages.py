"""The web pages of trials: what `holocron try` kept, side by side, and nothing of the wiki as markup."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from review_lake import BATCH, HOSTILE, NEM, SOURCE, review_lake
from starlette.testclient import TestClient

from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.place.paths import Lake
from holocron_assets.review.web.app import make_app
from holocron_assets.review.web.desk import Desk
from holocron_assets.trials.comparison import JudgedRow, side_totals
from holocron_assets.trials.report import Cost, Report, Totals, TriedItem
from holocron_assets.trials.store import keep_trial

ROWS = (
    JudgedRow("same", "homeworld = Varn", "from Varn", verdicts={"rules": "right"}),
    JudgedRow("new", "rank = admiral", "an admiral", failed=("quote",), verdicts={"people": "wrong"}),
    JudgedRow("new", HOSTILE, HOSTILE, is_double=True),
    JudgedRow("live", "species = Saltback", "a Saltback", failed_live=("pattern",)),
)


def tried_item(subject: str, *rows: JudgedRow, **changes: Any) -> TriedItem:
    known: dict[str, Any] = {
        "partition": BATCH,
        "item_id": "1",
        "title_key": title_key(SOURCE, subject),
        "entity_ids": (),
        "problem": None,
        "live": "answered",
        "calls": 2,
        "failed_calls": (),
        "tokens_in": 1200,
        "tokens_out": 34,
        "seconds": 4.5,
    }
    return TriedItem(subject=subject, rows=rows, **{**known, **changes})


def report(tag: str, *items: TriedItem, **changes: Any) -> Report:
    rows = [row for item in items for row in item.rows]
    totals = Totals(
        items=len(items),
        answered=1,
        answered_live=1,
        same=1,
        calls=2,
        failed_calls=1,
        tokens_in=1200,
        tokens_out=34,
        seconds=4.5,
        new=side_totals(rows, "new"),
        live=side_totals(rows, "live"),
    )
    known: dict[str, Any] = {
        "interrogation": "entity_facts",
        "version": 2,
        "prompt_version": "p",
        "over": "pages",
        "kind": "model",
        "model": "small:1b",
        "model_digest": "5",
        "compared_with": "entity_facts 1",
        "tried_at": datetime(2026, 5, 4, 12, tzinfo=UTC),
        "notes": ("Read this first.",),
        "cost": Cost(
            3412, 3100, asks_otherwise=True, to_ask=3412, seconds_an_item=4.5, hours=4.27, load_seconds=3
        ),
    }
    return Report(tag=tag, items=items, totals=totals, **{**known, **changes})


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return review_lake(tmp_path / "data")


@pytest.fixture
def page(lake: Lake) -> Iterator[TestClient]:
    with TestClient(make_app(Desk(lake, "Ada", ("Droid",))), base_url="http://127.0.0.1:8001") as client:
        yield client


def test_trials_are_listed_the_newest_first(lake: Lake, page: TestClient) -> None:
    assert "No trial was kept yet." in page.get("/trials").text
    keep_trial(lake, report("older", tried_item("Osk")), "{}")
    newer = datetime(2026, 6, 1, tzinfo=UTC)
    keep_trial(lake, report("newer", tried_item("Osk"), tried_at=newer, compared_with=None), "{}")
    text = page.get("/trials").text
    assert text.index("/trials/newer") < text.index("/trials/older")
    assert "entity_facts 2 beside entity_facts 1" in text
    assert '<a href="/trials">Trials</a>' in page.get("/").text, "the bar leads there"


def test_a_trial_shows_both_answers_with_verdicts_and_checks(lake: Lake, page: TestClient) -> None:
    problem = "Osk: it was malformed"
    items = (
        tried_item("Nem Sixfinger", *ROWS[:2], ROWS[3], entity_ids=(NEM,)),
        tried_item("Osk", problem=problem, failed_calls=("malformed: no JSON",), live="not asked"),
    )
    keep_trial(lake, report("T", *items), "{}")
    text = " ".join(page.get("/trials/T").text.split())
    assert f'<a href="/entity/{NEM}">' in text
    assert f'href="/text/{BATCH}/{title_key(SOURCE, "Osk")}"' in text
    same, new, live = (
        text.partition(f'<tr class="{side}">')[2].partition("</tr>")[0] for side in ("same", "new", "live")
    )
    assert "right by rules" in same
    assert "the same" in same
    assert "wrong by people" in new
    assert "fails quote" in new
    assert "fails pattern" in live
    assert live.startswith(" <td></td>"), "the new answer does not say it"
    assert "No new answer: <bdi>Osk: it was malformed" in text
    assert "malformed: no JSON" in text
    assert "Read this first." in text
    assert "3,412 wanted; 3,100 with an answer today, which would go stale" in text
    assert "<strong>3,412 to ask</strong>, at 4.5 s each" in text
    assert "4.3 hours" in text


def test_what_a_model_said_is_no_markup(lake: Lake, page: TestClient) -> None:
    keep_trial(lake, report("T", tried_item(HOSTILE, *ROWS, problem=HOSTILE)), "{}")
    text = page.get("/trials/T").text
    assert "<script>alert" not in text
    assert "\u202e" not in text
    assert "said twice" in text


def test_a_trial_without_anything_to_compare_with_has_one_column(lake: Lake, page: TestClient) -> None:
    keep_trial(lake, report("T", tried_item("Osk", ROWS[1]), compared_with=None), "{}")
    text = page.get("/trials/T").text
    assert "Counts today" not in text
    assert "Today's" not in text


@pytest.mark.parametrize("tag", ["none", "a b", ".hidden"])
def test_a_trial_that_was_not_kept_is_said_to_be_none(page: TestClient, tag: str) -> None:
    answer = page.get(f"/trials/{tag}")
    assert answer.status_code == 404
    assert f"No trial called &#39;{tag}&#39; was kept" in answer.text


def test_an_entity_that_a_trial_names_can_be_opened(lake: Lake, page: TestClient) -> None:
    keep_trial(lake, report("T", tried_item("Nem Sixfinger", entity_ids=(NEM,))), "{}")
    assert f"/entity/{NEM}" in page.get("/trials/T").text
    assert page.get(f"/entity/{NEM}").status_code == 200
