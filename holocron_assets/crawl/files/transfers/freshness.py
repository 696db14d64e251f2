"""Until when an answer holds by its own words (RFC 9111); the rules of Cache-Control are a library's."""

from collections.abc import Mapping
from datetime import datetime, timedelta

_LONGEST = timedelta(days=365)
_COUNTED = ("cache-control", "expires", "date")
"""Without Last-Modified, from which the library would guess a lifetime: we obey what is said."""


def fresh_until(headers: Mapping[str, str], now: datetime) -> datetime | None:
    """Until when an answer need not be asked for again; None if it says nothing, or wants to be asked.

    Args:
        headers: the answer's headers, their names in lower case.
        now: when it came.
    """
    # The library loads all its storages, and we use none of them: only a reader of files waits for that. It
    # gives no public call for these rules; its public ones want to keep bodies.
    from hishel import Headers, Response  # noqa: PLC0415
    from hishel._core._headers import parse_cache_control  # noqa: PLC0415
    from hishel._core._spec import get_age, get_freshness_lifetime  # noqa: PLC0415

    response = Response(200, Headers({name: headers[name] for name in _COUNTED if name in headers}))
    control = parse_cache_control(headers.get("cache-control"))
    lifetime = get_freshness_lifetime(response, is_cache_shared=False)
    if control.no_cache or control.no_store or not lifetime:
        return None
    stated = headers.get("age", "").strip()
    # Ten digits are older than any lifetime counts, and Python reads no number of thousands of digits.
    age = max(get_age(response), int(stated[:10]) if stated.isascii() and stated.isdigit() else 0)
    left = min(lifetime - age, int(_LONGEST.total_seconds()))
    return now + timedelta(seconds=left) if left > 0 else None
