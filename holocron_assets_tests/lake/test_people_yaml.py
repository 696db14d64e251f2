"""What people write is read as YAML, and what would fill the memory is refused."""

from datetime import date
from math import inf

import pytest
from yaml import YAMLError

from holocron_assets.lake.files.people_yaml import MOST_CHARACTERS, load_yaml

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{name}: &{name}\n  <<: [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def test_values_may_be_repeated_by_name() -> None:
    assert load_yaml("a: &a [1, 2]\nb: *a\nc: {<<: &d {e: 1}, f: *d}") == {
        "a": [1, 2],
        "b": [1, 2],
        "c": {"e": 1, "f": {"e": 1}},
    }
    assert load_yaml("a: R&D, *stars* & - bars") == {"a": "R&D, *stars* & - bars"}
    assert load_yaml("") is None


def test_words_and_numbers_mean_what_yaml_1_2_says() -> None:
    """By YAML 1.1, `no` is false, `1:30` is 90, `010` is 8, and `1_000` is a number."""
    assert load_yaml("[no, on, y, 1:30, 010, 1_000, =]") == ["no", "on", "y", "1:30", 10, "1_000", "="]
    assert load_yaml("[true, FALSE, ~, null, '', +1, 0o17, 0x1F]") == [True, False, None, None, "", 1, 15, 31]
    assert load_yaml("[1e3, -.5, 1., .inf, 1e, .]") == [1000.0, -0.5, 1.0, inf, "1e", "."]
    assert load_yaml("a: 2026-01-02\nb:") == {"a": date(2026, 1, 2), "b": None}


def test_a_long_file_that_repeats_nothing_is_read() -> None:
    assert load_yaml("- 1\n" * 150_000) == [1] * 150_000


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(LAUGHS, "over 100,000 values", id="a thousand million values in nine lines"),
        pytest.param(MERGES, "over 100,000 values", id="mappings merged again and again"),
        pytest.param("a: 1\nb: {c: 1, c: 2}", "duplicate key .c.", id="a key twice"),
        pytest.param("a: \ud800", "surrogates not allowed", id="half a character"),
        pytest.param("a: &a [*a]", "line 1 holds itself", id="a list that holds itself"),
        pytest.param("[" * 500_000, "nested too deeply", id="a list 500,000 deep"),
        pytest.param("a: " + "x" * MOST_CHARACTERS, "longer than", id="a long text"),
        pytest.param("a: 2001-02-31", "day is out of range", id="a day that there is not"),
        pytest.param("a: " + "9" * 5_000, "Exceeds the limit", id="a number of 5,000 digits"),
        pytest.param("a: !!python/object/apply:os.system [id]", "constructor", id="a call"),
    ],
)
@pytest.mark.fault(6, "a hostile YAML file")
def test_what_nobody_means_is_refused(text: str, problem: str) -> None:
    with pytest.raises(YAMLError, match=problem):
        load_yaml(text)
