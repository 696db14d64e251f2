"""Files that a page shows or links to, and addresses that its references cite, read from its wikitext.

Source of the rules: MediaWiki's manual, pages Help:Images (options of a picture, galleries) and Help:Links.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote, unquote

from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.titles import (
    FILE_NAMESPACE,
    InvalidTitle,
    PageTitle,
    Site,
    decode_character_references,
)
from holocron_assets.signals.clean import Cleaner
from holocron_assets.signals.extract import LONGEST_WIKITEXT
from holocron_assets.signals.hidden import FILLER, Hidden, apart, at_length, references, replaced, unmasked
from holocron_assets.signals.vocabulary import words_of

_MEDIA_NAMESPACE = -2
_LONGEST_ADDRESS = 2000
_MOST_USES = 2000
# A link with its options and caption, in which links may stand. All quantifiers are possessive.
_LINK = re.compile(
    r"\[\[([^\[\]{}<>|\n]{1,400}+)((?:\|(?:[^\[\]|]++|\[\[[^\[\]]*+\]\]|\[[^\[\]]*+\])*+)*+)\]\]"
)
_GALLERY_LINE = re.compile(r"^[^\S\n]*+([^|\n]{1,400}+)(?:\|([^\n]*+))?$", re.MULTILINE)
# The extension ImageMap: the first line that is no comment names the picture
_MAPPED_FILE = re.compile(rf"(?:[\s{FILLER}]*+#[^\n]*+)*+[\s{FILLER}]*+([^|\n]{{1,400}}+)(?:\|([^\n]*+))?")
_VALUE = re.compile(r"=[^\S\n]*+([^|\n\[\]{}<>=]{1,240}+)")
_FILE_NAME = re.compile(
    r".+\.(?:png|jpe?g|gif|svg|webp|avif|tiff?|pdf|djvu|og[gva]|mp[34]|wav|flac|midi?|webm|xcf)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://[^\s<>\"\[\]{}|\ufdd0-\ufdef]+", re.IGNORECASE)
# Parser::makeFreeExternalLink: an address ends before these, and at its end these marks are no part of it.
_ADDRESS_END = re.compile(r"&(?:lt|gt|nbsp|#x0*+(?:3[ce]|a0)|#0*+(?:60|62|160));", re.IGNORECASE)
_TRAILING = ".,:;!?'"
# Sanitizer::cleanUrl: what no address may hold once its character references are decoded
_UNSAFE = re.compile(r"[\x00-\x20\x7f\[\]<>\"|]")
# MediaWiki's $wgIllegalFileChars: no file of a wiki is stored under a name with one of them
_NO_FILE_NAME = re.compile(r"[:/\\]")
# https://www.mediawiki.org/wiki/Help:Images#Syntax, in English, which holds on every wiki
_OPTION = re.compile(
    r"(?:thumb(?:nail)?|frame(?:d|less)?|border|left|right|center|centre|none|baseline|sub|super|top|text-top|middle"
    r"|bottom|text-bottom|upright|\d*x?\d+px|(?:link|alt|lang|page|class|thumb|upright|thumbtime|start|end)=.*)",
    re.IGNORECASE | re.DOTALL,
)


class _Use(NamedTuple):
    start: int
    role: str
    name: str
    caption: str | None = None


def file_use_rows(page: Row, site: Site, lead_offset: int | None) -> list[Row]:
    """Rows of table `file_uses` for a page.

    A file counts once for each role. Comments, nowiki and code do not count.

    Args:
        page: a row of table `pages` with status 'ok'.
        site: the wiki that the page is on.
        lead_offset: the character where the lead starts, if the page has an infobox: what is shown before it
            is in the infobox. None without one.
    """
    if page.get("content_model") not in (None, "wikitext"):
        return []
    text = at_length((page.get("wikitext") or "")[:LONGEST_WIKITEXT])
    cleaner = Cleaner(site, words_of(site).templates, page["title"])
    found: dict[tuple[str, str], _Use] = {}
    for use in sorted(_uses(text, site, lead_offset or 0)):
        found.setdefault((use.role, use.name), use)
    return [
        {
            **{name: page[name] for name in ("source", "batch", "title", "title_key")},
            "role": use.role,
            "name": use.name,
            "caption": cleaner.bounded(use.caption) or None if use.caption else None,
            "position": position,
        }
        for position, use in enumerate(list(found.values())[:_MOST_USES])
    ]


def _uses(text: str, site: Site, lead_offset: int) -> Iterator[_Use]:
    parts = list(apart(text))
    galleries = [part for part in parts if part.tag == "gallery"]
    # A list of references, and a gallery, may hold references.
    cited = list(references(text))
    shown = replaced(text, ((part.start, part.end, FILLER * (part.end - part.start)) for part in cited))
    yield from _linked(text, shown, [(part.start, part.end) for part in galleries], site, lead_offset)
    for match in _VALUE.finditer(text):
        written = unmasked(match[1]).strip()
        if _FILE_NAME.fullmatch(written) and (named := _named_file(written, site)):
            yield _Use(match.start(), _role(match.start(), lead_offset), named)
    for part in galleries:
        yield from _of_gallery(shown, part.inner_start, part.inner_end, site)
    for part in parts:
        if part.tag == "imagemap":
            yield from _of_map(shown, part, site, lead_offset)
    for part in cited:
        yield from _cited(text, part.inner_start, part.inner_end)


def _linked(
    text: str, shown: str, galleries: Sequence[tuple[int, int]], site: Site, lead_offset: int
) -> Iterator[_Use]:
    """Files that links show; a caption has no words of its references, which `shown` leaves out."""
    for match in _LINK.finditer(text):
        if ":" not in match[1] or (target := _file(unmasked(match[1]), site)) is None:
            continue
        if any(start <= match.start() < end for start, end in galleries):
            continue
        if target.namespace == _MEDIA_NAMESPACE:
            yield _Use(match.start(), "media", _file_title(target.name, site))
        else:
            caption = _caption(shown[slice(*match.span(2))], site)
            yield _Use(match.start(), _role(match.start(), lead_offset), target.title, caption)


def _role(start: int, lead_offset: int) -> str:
    return "infobox" if start < lead_offset else "text"


def _cited(text: str, start: int, end: int) -> Iterator[_Use]:
    for address in _ADDRESS.finditer(text, start, end):
        url = _as_mediawiki_links(address[0])
        if not url.endswith("://") and len(url) <= _LONGEST_ADDRESS:
            yield _Use(address.start(), "reference", url)


def _as_mediawiki_links(address: str) -> str:
    """An address without the text behind it, and with its character references decoded."""
    url = decode_character_references(_ADDRESS_END.split(address, maxsplit=1)[0])
    url = url.rstrip(_TRAILING if "(" in url else f"{_TRAILING})")
    return _UNSAFE.sub(lambda unsafe: quote(unsafe[0]), url)


def _of_gallery(text: str, start: int, end: int, site: Site) -> Iterator[_Use]:
    # The first line may follow the tag; in a part of the text, a line begins there.
    for line in _GALLERY_LINE.finditer(text[start:end]):
        written = unmasked(line[1]).strip()
        named = _named_file(written, site) if written else None
        if named:
            caption = _caption(f"|{line[2]}", site) if line[2] else None
            yield _Use(start + line.start(), "gallery", named, caption)


def _of_map(text: str, part: Hidden, site: Site, lead_offset: int) -> Iterator[_Use]:
    line = _MAPPED_FILE.match(text, part.inner_start, part.inner_end)
    target = _file(unmasked(line[1]), site) if line else None
    if line and target:
        caption = _caption(f"|{line[2]}", site) if line[2] else None
        yield _Use(part.start, _role(part.start, lead_offset), _file_title(target.name, site), caption)


def _named_file(written: str, site: Site) -> str | None:
    """The title of a file that is named with or without its namespace."""
    target = _file(written, site) or _file(f"File:{written}", site)
    return _file_title(target.name, site) if target and not _NO_FILE_NAME.search(target.name) else None


def _file(written: str, site: Site) -> PageTitle | None:
    """The file that a text names; None if it names none, or only links to its page with a leading colon."""
    if written.lstrip().startswith(":"):
        return None
    if "%" in written:
        written = unquote(written)
    try:
        target = site.parse_title(written.strip())
    except InvalidTitle:
        return None
    return target if target.namespace in {FILE_NAMESPACE, _MEDIA_NAMESPACE} else None


def _file_title(name: str, site: Site) -> str:
    return f"{site.local_names.get(FILE_NAMESPACE, 'File')}:{name}"


def _caption(options: str, site: Site) -> str | None:
    """The last part that is no option of the picture."""
    own = words_of(site).picture_options
    parts = [part.strip() for part in _parts(options)]
    shown = [part for part in parts if part and not _OPTION.fullmatch(part) and not own.fullmatch(part)]
    return shown[-1] if shown else None


def _parts(options: str) -> Iterator[str]:
    """The parts between the bars that stand in no link and no template."""
    start = depth = 0
    for place, character in enumerate(options):
        depth = max(depth + (character in "[{") - (character in "]}"), 0)
        if character == "|" and depth == 0:
            yield options[start:place]
            start = place + 1
    yield options[start:]
