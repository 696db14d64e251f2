"""How `keep_alive` is written."""

import math

import pytest

from holocron_assets.derive.server.durations import keep_alive_seconds


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (0, 0),
        (30, 30),
        (0.5, 0.5),
        (-1, math.inf),
        ("0", 0),
        ("300", 300),
        ("5m", 300),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("250ms", 0.25),
        ("-1", math.inf),
        ("-1s", math.inf),
        (1e300, math.inf),
        (10**400, math.inf),
        ("999999999h", math.inf),
    ],
)
def test_numbers_are_seconds_texts_have_units_and_negative_is_for_ever(
    written: object, seconds: float
) -> None:
    assert keep_alive_seconds(written) == pytest.approx(seconds)


@pytest.mark.parametrize("written", ["", "5 m", "m", "soon", "1d", True, [], {}, math.nan])
def test_what_is_no_duration_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="keep_alive"):
        keep_alive_seconds(written)
