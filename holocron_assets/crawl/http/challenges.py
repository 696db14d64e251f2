"""Recognizing captchas, by what `challenges.yaml` says: the code knows no product by name."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from ruamel.yaml import YAML

_LOOKED_AT_BYTES = 100_000


def is_challenge(headers: Mapping[str, str], body: bytes) -> bool:
    """Whether an answer asks for proof of being human.

    Args:
        headers: HTTP headers, their names in lower case.
        body: the decompressed body. Words count only in an HTML page.
    """
    known = _challenges()
    if any(headers.get(name, "").strip().lower() in values for name, values in known["headers"].items()):
        return True
    if "html" not in headers.get("content-type", "").lower():
        return False
    start = body[:_LOOKED_AT_BYTES].decode("utf-8", "replace").lower()
    return any(word in start for word in known["words"])


@cache
def _challenges() -> dict[str, Any]:
    text = (resources.files(__package__) / "challenges.yaml").read_text(encoding="utf-8")
    known: dict[str, Any] = YAML(typ="safe", pure=True).load(text)
    return known
