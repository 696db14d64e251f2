"""What people write is read as YAML, and what would fill the memory is refused."""

import pytest
from ruamel.yaml.error import YAMLError

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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(LAUGHS, "more than 100,000 values", id="a thousand million values in nine lines"),
        pytest.param(MERGES, "more than 100,000 values", id="mappings merged again and again"),
        pytest.param("a: &a [*a]", "line 1 holds itself", id="a list that holds itself"),
        pytest.param("[" * 5_000, "nested too deeply", id="a list 5,000 deep"),
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
