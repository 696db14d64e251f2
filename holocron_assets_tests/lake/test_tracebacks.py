"""Tracebacks of failures: what they show, what they hide, and how many are kept."""

from pathlib import Path

import pytest

from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import TRACEBACKS
from holocron_assets.lake.tracebacks import MOST_CHARACTERS, MOST_KEPT, keep_tracebacks, traceback_of

SCOPE = "wiki-000001"


def raised(message: str) -> ValueError:
    """An error with a cause."""
    try:
        try:
            [].pop()
        except IndexError as cause:
            raise ValueError(message) from cause
    except ValueError as error:
        return error
    pytest.fail("it did not raise")


def kept(lake: Lake) -> dict[str, str]:
    return {row["item"]: row["traceback"] for row in read_partition(lake, TRACEBACKS, SCOPE)}


def test_a_traceback_names_the_place_the_error_and_its_cause() -> None:
    text = traceback_of(raised("no wiki"))
    assert text.index("IndexError: pop from empty list") < text.index("ValueError: no wiki")
    assert "in raised" in text


def test_a_traceback_holds_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "open-sesame")
    assert "open-sesame" not in traceback_of(raised("the key open-sesame is wrong"))


def test_of_a_long_traceback_the_end_is_kept_which_names_the_error() -> None:
    text = traceback_of(raised("x" * 20_000 + " at last"))
    assert len(text) < MOST_CHARACTERS + 100
    assert text.startswith("(cut: ")
    assert text.endswith(" at last\n")


def test_half_of_a_surrogate_pair_in_a_message_can_be_kept(tmp_path: Path) -> None:
    keep_tracebacks(Lake(tmp_path), SCOPE, "pages", {"1": traceback_of(raised("\ud800"))})
    assert "ValueError: ?" in kept(Lake(tmp_path))["1"]


def test_a_newer_traceback_of_an_item_takes_the_place_of_the_earlier_one(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    keep_tracebacks(lake, SCOPE, "pages", {"1": "first", "2": "other"})
    keep_tracebacks(lake, SCOPE, "pages", {"1": "second"})
    keep_tracebacks(lake, SCOPE, "pages", {})
    assert kept(lake) == {"2": "other", "1": "second"}


def test_of_a_partition_in_which_everything_fails_the_newest_are_kept(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for start in (0, MOST_KEPT):
        found = {str(number): "all alike" for number in range(start, start + MOST_KEPT)}
        keep_tracebacks(lake, SCOPE, "pages", found)
    assert list(kept(lake)) == [str(number) for number in range(MOST_KEPT, 2 * MOST_KEPT)]
