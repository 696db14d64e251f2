"""Functions that interrogations of kind `python` name in tests."""

import os
import signal
from collections.abc import Iterable, Iterator
from typing import Any

from holocron_assets.derive.code.given import CodeItem
from holocron_assets.errors import PermanentError, TransientError


def kind_of_page(item: CodeItem) -> list[dict[str, Any]]:
    """A row that says what the page is about, by its first words."""
    text = item.page.part("lead")
    return [{"kind": "person" if "pilot" in text else "place", "quote": text[:12], "words": None}]


def moody(item: CodeItem) -> Iterable[dict[str, Any]]:
    """Fails as the page's title says."""
    match item.variables["title"]:
        case "Bad":
            raise ZeroDivisionError("no pilots to divide by")
        case "Never":
            raise PermanentError("it has no pilots at all")
        case "Later":
            raise TransientError("the pilots are out")
        case "Exit":
            raise SystemExit(3)
        case "Wrong":
            return [{"kind": "robot"}]
        case "Two":
            return [{"kind": "person"}, {"kind": "place"}]
        case "Text":
            return iter("ab")  # type: ignore[return-value] # what a careless author may write
    return [{"kind": "person"}]


def deadly(item: CodeItem) -> list[dict[str, Any]]:
    """Kills the process at one page."""
    if item.variables["title"] == "Deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    return [{"kind": "person"}]


def changes_what_it_is_given(item: CodeItem) -> Iterator[dict[str, Any]]:
    """Tries to write into the item."""
    item.page.signals["title"] = "Mine"  # type: ignore[index] # it cannot be changed, which is the point
    yield {"kind": "person"}


NO_FUNCTION = 7
