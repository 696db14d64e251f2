"""Addresses of files: where a redirect leads, and which one gives the original. Pure."""

import re
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from holocron_assets.crawl.files.artifact import ArtifactError, normalized_url

_FANDOM_HOSTS = ("static.wikia.nocookie.net", "vignette.wikia.nocookie.net", "images.wikia.com")
_FANDOM_PATH = re.compile(r"(/revision/(?:latest|[0-9]+))(?:/.*)?$")
_WIKIMEDIA_THUMB = re.compile(r"^(/.+?)/thumb(/[0-9a-f]/[0-9a-f]{2}/[^/]+)/[^/]+$")
_LOGIN = re.compile(
    r"(?:^|[/._-])(?:log[-_]?in|sign[-_]?in|sso|auth|account|wayf)(?:$|[/._?-])", re.IGNORECASE
)


class RedirectError(Exception):
    """A redirect must not be followed. The message says why.

    Attributes:
        reason: why, in one word, for tables.
    """

    def __init__(self, reason: str, message: str) -> None:
        """Say why, in one word and in a sentence."""
        super().__init__(message)
        self.reason = reason


def redirected(url: str, location: str) -> str:
    """The address that a redirect leads to (RFC 9110 section 10.2.2), in its normal form.

    Raises:
        RedirectError: it leads from https to http, or to no address that can be asked.
    """
    try:
        target = normalized_url(urljoin(url, location.strip()))
    except (ArtifactError, ValueError) as error:
        raise RedirectError("redirect-unusable", f"{url} redirects to no usable address: {error}") from None
    if url.startswith("https:") and target.startswith("http:"):
        raise RedirectError("redirect-downgrade", f"{url} redirects from https to http, to {target}")
    return target


def is_login(url: str) -> bool:
    """Whether an address looks like a page that asks for a name and a password."""
    parts = urlsplit(url)
    return bool(_LOGIN.search(parts.path) or _LOGIN.search(parts.hostname or ""))


def original(url: str) -> str:
    """The address of a file as it was uploaded, if one of a smaller or converted copy is given.

    Fandom's servers convert pictures to WebP and scale them by the end of the path; `format=original` asks
    for the uploaded bytes. Wikimedia has scaled copies below `thumb`.
    """
    parts = urlsplit(url)
    host, path, query = parts.hostname or "", parts.path, parts.query
    if host in _FANDOM_HOSTS or (host.endswith(".wikia.nocookie.net")):
        path = _FANDOM_PATH.sub(r"\1", path)
        kept = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name != "format"]
        query = urlencode([*kept, ("format", "original")])
    elif host == "upload.wikimedia.org" and (found := _WIKIMEDIA_THUMB.match(path)):
        path = found[1] + found[2]
    return urlunsplit((parts.scheme, parts.netloc, path, query, ""))
