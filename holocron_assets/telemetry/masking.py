"""Secrets, kept out of what is said: errors end up in logs, events and tables, which others read.

Holocron itself repeats none. What others say to us may: a proxy that refuses a key together with the key, a
tool that names the address that it could not reach.
"""

import json
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

    Those are the values of variables whose names end in KEY, TOKEN, PASSWORD or SECRET, the passwords in
    addresses that others hold, such as HOLOCRON_POSTGRES_URL, and the values of OpenTelemetry's headers. They
    are found as they are and as JSON and Python write them between quotation marks.
    """
    for secret in sorted(_secrets(environment), key=len, reverse=True):
        text = text.replace(secret, _MASK)
    return _USER.sub(f"{_MASK}@", text)


def _secrets(environment: Mapping[str, str]) -> set[str]:
    held = {secret for name, value in environment.items() for secret in _held(name, value)}
    plain = {form for secret in held for form in (secret, unquote(secret)) if len(form) >= _SHORTEST}
    return {form for one in plain for form in (one, _inner(repr(one)), _inner(json.dumps(one)))} | {
        _inner(json.dumps(one, ensure_ascii=False)) for one in plain
    }


def _held(name: str, value: str) -> Iterator[str]:
    """What a variable holds that nobody else is to know."""
    if _SECRET.search(name):
        yield value
    elif name.endswith("_HEADERS"):  # as OpenTelemetry's: name=value,name=value
        for header in value.split(","):
            sent = unquote(header.partition("=")[2]).strip()
            yield from (sent, sent.rpartition(" ")[2])  # "Bearer" before it is no secret
    else:
        yield _password(value)


def _inner(quoted: str) -> str:
    return quoted[1:-1]


def _password(value: str) -> str:
    """The password in an address; empty where there is none."""
    if "://" not in value or "@" not in value:
        return ""
    try:
        return urlsplit(value).password or ""
    except ValueError:  # no address after all
        return ""
