"""Keeping secrets out of messages: errors appear in logs, events and tables, which others read.

Holocron itself repeats no secrets. Messages of others may: a proxy repeats the key that it refuses, or a tool
names the address that it could not reach.
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
"""The shortest secret that is masked: a shorter one would be found in any text."""


def without_secrets(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """A text without users and passwords in addresses, and without the secrets of the environment.

    Secrets are the values of variables whose names end in KEY, TOKEN, PASSWORD or SECRET, the passwords in
    addresses of other variables, such as HOLOCRON_POSTGRES_URL, and the values of OpenTelemetry's headers.
    They are found as they are, and as JSON and Python write them between quotation marks.
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
    """The secrets that a variable holds."""
    if _SECRET.search(name):
        yield value
    elif name.endswith("_HEADERS"):  # such as OpenTelemetry's: name=value,name=value
        for header in value.split(","):
            sent = unquote(header.partition("=")[2]).strip()
            yield from (sent, sent.rpartition(" ")[2])  # the word "Bearer" before it is no secret
    else:
        yield _password(value)


def _inner(quoted: str) -> str:
    return quoted[1:-1]


def _password(value: str) -> str:
    """The password in an address; empty if there is none."""
    if "://" not in value or "@" not in value:
        return ""
    try:
        return urlsplit(value).password or ""
    except ValueError:  # the value is no address
        return ""
