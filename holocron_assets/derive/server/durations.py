"""How long a model stays loaded, as Ollama's `keep_alive` says it."""

import math
import re

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = r"(\d+(?:\.\d*)?|\.\d+)(ms|us|µs|ns|h|m|s)"
_DURATION = re.compile(rf"([+-]?)((?:{_PART})+)")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_LONGEST = 100 * 365 * 86400.0
"""A hundred years, in seconds. Longer counts as for ever: no clock can hold such a time."""


def keep_alive_seconds(value: object) -> float:
    """Seconds for a number of seconds or a text such as `5m` or `1h30m`; anything negative is for ever.

    A text that is only a number counts as seconds, as it does in OLLAMA_KEEP_ALIVE.

    Raises:
        ValueError: it is neither; says how it is written.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value:  # noqa: PLR0124 - NaN is not
        return _for_ever_if_negative(value)
    if isinstance(value, str):
        if _NUMBER.fullmatch(value):
            return _for_ever_if_negative(float(value))
        if match := _DURATION.fullmatch(value):
            seconds = sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, match[2]))
            return _for_ever_if_negative(-seconds if match[1] == "-" else seconds)
    raise ValueError(f'invalid keep_alive {value!r}: write seconds, or a duration such as "5m" or "1h30m"')


def _for_ever_if_negative(seconds: float) -> float:
    return float(seconds) if 0 <= seconds <= _LONGEST else math.inf
