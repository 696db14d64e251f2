"""Secrets, kept out of what is said: errors end up in logs, events and tables, which others read.

Holocron itself repeats none. What others say to us may: a proxy that refuses a key together with the key, a
tool that names the address that it could not reach.
"""

import os
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

_MASK = "***"
_SECRET = re.compile(r"(?:KEY|TOKEN|PASSWORD|PASSWD|SECRET)$", re.IGNORECASE)
_USER = re.compile(r"(?<=://)[^\s/@'\"]+@")
_SHORTEST = 6
"""What is shorter would be found in any text."""


def without_secrets(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """A text without users and passwords in addresses, and without the secrets of the environment.

    Those are the values of variables whose names end in KEY, TOKEN, PASSWORD or SECRET, and the passwords in
    addresses that others hold, such as HOLOCRON_POSTGRES_URL.
    """
    for secret in sorted(_secrets(environment), key=len, reverse=True):
        text = text.replace(secret, _MASK)
    return _USER.sub(f"{_MASK}@", text)


def _secrets(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        held = value if _SECRET.search(name) else _password(value)
        for written in {held, unquote(held)}:
            if len(written) >= _SHORTEST:
                yield written


def _password(value: str) -> str:
    """The password in an address; empty where there is none."""
    if "://" not in value or "@" not in value:
        return ""
    try:
        return urlsplit(value).password or ""
    except ValueError:  # no address after all
        return ""
