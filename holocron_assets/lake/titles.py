"""MediaWiki's title rules as pure code: the real title of a page, for any way of writing it.

Source: MediaWiki's title codec (`MediaWikiTitleCodec::splitTitleString`) and its manual pages on page titles,
capital links and namespaces.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from html.entities import html5
from typing import Any

from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.schema import Row

MAIN_NAMESPACE = 0
TALK_NAMESPACE = 1
FILE_NAMESPACE = 6
CATEGORY_NAMESPACE = 14

DOTTED_CAPITAL = frozenset({"tr", "az", "kaa"})
"""Languages in which MediaWiki makes 'İ' of 'i': Turkish, Azerbaijani and Karakalpak."""

CASE_SENSITIVE = "case-sensitive"
"""The word of a wiki that leaves the first letter of its titles as it is written."""

_STANDARD_NAMES: Mapping[int, tuple[str, ...]] = {
    -2: ("Media",),
    -1: ("Special",),
    0: ("",),
    1: ("Talk",),
    2: ("User",),
    3: ("User talk",),
    4: ("Project",),
    5: ("Project talk",),
    6: ("File", "Image"),
    7: ("File talk", "Image talk"),
    8: ("MediaWiki",),
    9: ("MediaWiki talk",),
    10: ("Template",),
    11: ("Template talk",),
    12: ("Help",),
    13: ("Help talk",),
    14: ("Category",),
    15: ("Category talk",),
}
_STANDARD_INTERWIKI = frozenset(
    {
        "commons",
        "mediawikiwiki",
        "metawikimedia",
        "mw",
        "w",
        "wikia",
        "wikibooks",
        "wikidata",
        "wikimedia",
        "wikinews",
        "wikipedia",
        "wikiquote",
        "wikisource",
        "wikispecies",
        "wikiversity",
        "wikivoyage",
        "wikt",
        "wiktionary",
    }
)
# NamespaceInfo::ALWAYS_CAPITALIZED_NAMESPACES with their talk namespaces
_ALWAYS_CAPITALISED = frozenset({-1, 2, 3, 8, 9})
_SPECIAL_NAMESPACE = -1
_LONGEST_NAME_BYTES = 255
_LONGEST_SPECIAL_NAME_BYTES = 512
_CACHED_TITLES = 1 << 16
_KEPT_SITES = 4
_SITE_COLUMNS = (
    *("namespaces", "interwiki_prefixes", "own_prefixes"),
    *("title_case", "case_sensitive_namespaces", "language"),
)
_LAST_CODE_POINT = 0x10FFFF

_DIRECTION_MARKS = re.compile("[\u200e\u200f\u202a-\u202e]+")
_SPACES = re.compile("[ _\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_ILLEGAL = re.compile(
    "[\x00-\x1f\x7f<>\\[\\]{}|#\ufffd\ud800-\udfff]"
    "|%[0-9A-Fa-f]{2}"
    "|&(?:[A-Za-z0-9\u0080-\uffff]+|#[0-9]+|#x[0-9A-Fa-f]+);"
)
_GEORGIAN = re.compile("[\u10d0-\u10ff]")
_RELATIVE_PATH = re.compile(r"(?:^|/)\.\.?(?:/|$)")
_CHARACTER_REFERENCE = re.compile(r"&(?:([A-Za-z][A-Za-z0-9]*)|#([0-9]+)|#[xX]([0-9A-Fa-f]+));")


class InvalidTitle(PermanentError, ValueError):  # noqa: N818 - MediaWiki's own term for such a title
    """A text that cannot be the title of a page."""

    def __init__(self, text: str, problem: str) -> None:
        """Quote the text, shortened if it is long, and say what is wrong with it."""
        shown = text if len(text) <= _LONGEST_NAME_BYTES else f"{text[:_LONGEST_NAME_BYTES]}..."
        super().__init__(f"{shown!r} is not a page title: {problem}")


class InterwikiTitle(InvalidTitle):
    """A title that leads to another wiki.

    Attributes:
        prefix: the interwiki prefix, in lower case.
    """

    def __init__(self, text: str, prefix: str) -> None:
        """Quote the text and name the prefix."""
        super().__init__(text, f"prefix {prefix!r} leads to another wiki")
        self.prefix = prefix


@dataclass(frozen=True, slots=True)
class PageTitle:
    """A title in the form under which its page is stored.

    Attributes:
        namespace: MediaWiki namespace number.
        title: the full title, with the wiki's own namespace prefix.
        name: the title without the prefix.
        fragment: the text after a `#`; None without one.
    """

    namespace: int
    title: str
    name: str
    fragment: str | None = None


def decode_character_references(text: str) -> str:
    """Replace HTML character references (`&amp;`, `&#39;`) as MediaWiki does: only known and closed ones."""
    return _CHARACTER_REFERENCE.sub(_decoded_reference, text) if "&" in text else text


def _decoded_reference(match: re.Match[str]) -> str:
    name, decimal, hexadecimal = match.groups()
    if name:
        return html5.get(f"{name};", match.group())
    digits = (decimal or hexadecimal).lstrip("0")[:8] or "0"
    code_point = int(digits, 10 if decimal else 16)
    is_character = 0 < code_point <= _LAST_CODE_POINT and not 0xD800 <= code_point <= 0xDFFF  # noqa: PLR2004 - Unicode's surrogates
    return chr(code_point) if is_character else "\ufffd"


@dataclass(frozen=True, eq=False)
class Site:
    """The facts that are needed to read a wiki's titles.

    Attributes:
        local_names: namespace number to the wiki's own name for it.
        namespace_numbers: every name of a namespace, in lower case, to its number.
        interwiki_prefixes: prefixes that lead to other wikis, in lower case.
        case_sensitive: numbers of the namespaces in whose titles the case of the first letter counts; in all
            others, the first letter is capitalised.
        language: code of the language that its pages are written in; None if it is not known.
        own_prefixes: prefixes that lead to this wiki itself, in lower case.
    """

    local_names: Mapping[int, str]
    namespace_numbers: Mapping[str, int]
    interwiki_prefixes: frozenset[str] = field(default=_STANDARD_INTERWIKI)
    case_sensitive: Collection[int] = frozenset()
    language: str | None = None
    own_prefixes: frozenset[str] = frozenset()

    @classmethod
    def from_row(cls, row: Row) -> "Site":
        """Make a site from a row of table `sites`.

        English names and aliases of the standard namespaces are known even if the row lacks them, as with an
        XML export.
        """
        # Each site has the titles that it read, and equal rows have the same one.
        return _site_of(json.dumps({name: row.get(name) for name in _SITE_COLUMNS}))

    def parse_title(self, text: str) -> PageTitle:
        """The title that a text names on this wiki.

        Args:
            text: a title as someone wrote it: `:category: foo_bar#part`, `Image:X.png`, `Caf&eacute;`.

        Raises:
            InterwikiTitle: the title leads to another wiki.
            InvalidTitle: no page can have this title.
        """
        return self._parse_cached(text)

    def namespace_number(self, name: str) -> int | None:
        """The number of the namespace with a name, in upper or lower case; None if there is none."""
        return self.namespace_numbers.get(_SPACES.sub(" ", name).strip(" ").lower())

    @cached_property
    def _parse_cached(self) -> Callable[[str], PageTitle]:
        # a cache for each site, because the same text may be another title on another wiki
        return lru_cache(maxsize=_CACHED_TITLES)(self._parse)

    def _parse(self, text: str) -> PageTitle:
        normalised = _normalised(text)
        if self.own_prefixes:
            normalised = self._without_own_prefixes(normalised)
        namespace, rest = self._split_prefix(text, normalised)
        name, hash_sign, fragment = rest.partition("#")
        name = name.rstrip(" ")
        _refuse(text, name, namespace)
        if namespace not in self.case_sensitive:
            name = capitalised(name, self.language)
        prefix = self.local_names.get(namespace, "")
        return PageTitle(
            namespace=namespace,
            title=f"{prefix}:{name}" if prefix else name,
            name=name,
            fragment=fragment if hash_sign else None,
        )

    def _without_own_prefixes(self, normalised: str) -> str:
        while True:
            prefix, colon, rest = normalised.removeprefix(":").partition(":")
            prefix = prefix.strip(" ").lower()
            if not colon or prefix not in self.own_prefixes or prefix in self.namespace_numbers:
                return normalised
            normalised = rest.lstrip(" ")

    def _split_prefix(self, text: str, normalised: str) -> tuple[int, str]:
        if normalised.startswith(":"):
            normalised = normalised[1:].lstrip(" ")
        prefix, colon, rest = normalised.partition(":")
        if not colon:
            return MAIN_NAMESPACE, normalised
        prefix = prefix.rstrip(" ").lower()
        namespace = self.namespace_numbers.get(prefix) if prefix else None
        if namespace is None:
            if prefix in self.interwiki_prefixes:
                raise InterwikiTitle(text, prefix)
            return MAIN_NAMESPACE, normalised
        rest = rest.lstrip(" ")
        if namespace == TALK_NAMESPACE:
            self._refuse_prefixed_talk(text, rest)
        return namespace, rest

    def _refuse_prefixed_talk(self, text: str, rest: str) -> None:
        prefix, colon, _ = rest.partition(":")
        prefix = prefix.rstrip(" ").lower()
        names = (self.namespace_numbers, self.interwiki_prefixes, self.own_prefixes)
        if colon and prefix and any(prefix in known for known in names):
            raise InvalidTitle(text, f"the talk namespace holds no {prefix!r} prefix")


@lru_cache(maxsize=_KEPT_SITES)
def _site_of(columns: str) -> Site:
    """The site that some columns of a row describe, as JSON."""
    row = json.loads(columns)
    namespaces, case_sensitive = row["namespaces"], row["case_sensitive_namespaces"]
    if case_sensitive is None:  # an older row
        unsaid = dict.fromkeys(space["id"] for space in namespaces)
        case_sensitive = case_sensitive_namespaces(row["title_case"], unsaid)
    return Site(
        local_names={space["id"]: space["name"] for space in namespaces},
        namespace_numbers=dict(_known_names(namespaces)),
        interwiki_prefixes=frozenset(prefix.lower() for prefix in row["interwiki_prefixes"]),
        case_sensitive=frozenset(case_sensitive),
        language=row["language"],
        own_prefixes=frozenset(prefix.lower() for prefix in row["own_prefixes"] or ()),
    )


def case_sensitive_namespaces(title_case: str, cases: Mapping[int, str | None]) -> list[int]:
    """The namespaces in whose titles the case of the first letter counts.

    Args:
        title_case: the wiki's rule, 'first-letter' or 'case-sensitive'.
        cases: the same for each namespace, by its number; None where the wiki does not say.
    """
    return sorted(
        number
        for number, case in {MAIN_NAMESPACE: None, **cases}.items()
        if number not in _ALWAYS_CAPITALISED and (case or title_case) == CASE_SENSITIVE
    )


def _known_names(namespaces: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, int]]:
    spaces = list(namespaces)
    for space in spaces:
        for name in _STANDARD_NAMES.get(space["id"], ()):
            yield name.lower(), space["id"]
    # the wiki's own names come last, so that they win over English names
    for space in spaces:
        own = [*(space.get("aliases") or ()), space.get("canonical") or "", space["name"]]
        for name in own:
            if name:
                yield name.replace("_", " ").lower(), space["id"]


def _normalised(text: str) -> str:
    text = decode_character_references(text)
    if not text.isascii():
        text = _DIRECTION_MARKS.sub("", unicodedata.normalize("NFC", text))
    return _SPACES.sub(" ", text).strip(" ")


def _refuse(text: str, name: str, namespace: int) -> None:
    if not name:
        raise InvalidTitle(text, "it is empty")
    if illegal := _ILLEGAL.search(name):
        raise InvalidTitle(text, f"{illegal.group()!r} cannot be part of one")
    if name.startswith(":"):
        raise InvalidTitle(text, "it starts with a colon")
    if _RELATIVE_PATH.search(name):
        raise InvalidTitle(text, "it has '.' or '..' as a path part")
    if "~~~" in name:
        raise InvalidTitle(text, "it has '~~~', which stands for a signature")
    longest = _LONGEST_SPECIAL_NAME_BYTES if namespace == _SPECIAL_NAMESPACE else _LONGEST_NAME_BYTES
    if len(name.encode()) > longest:
        raise InvalidTitle(text, f"it is longer than {longest} bytes")


def capitalised(name: str, language: str | None = None) -> str:
    """A name whose first letter is capitalised as MediaWiki does.

    Args:
        name: of a page, without its namespace.
        language: code of the wiki's language, if it is known.
    """
    first = name[:1]
    if first == "i" and language in DOTTED_CAPITAL:
        return f"\u0130{name[1:]}"
    # A letter whose capital is several letters, such as 'ß', stays as it is, as on Wikimedia's wikis. So does
    # a Georgian letter, whose capital begins no word. An unchanged MediaWiki makes 'SS' of the first, and a
    # capital of the second. But it answers both titles, so nothing is lost.
    capital = first.upper()
    return name if len(capital) > 1 or _GEORGIAN.match(first) else capital + name[1:]


DEFAULT_SITE = Site.from_row(
    {
        "title_case": "first-letter",
        "namespaces": [
            {"id": number, "name": names[0], "canonical": names[0], "aliases": list(names[1:])}
            for number, names in _STANDARD_NAMES.items()
        ],
        "interwiki_prefixes": sorted(_STANDARD_INTERWIKI),
    }
)
"""A wiki with MediaWiki's English namespaces, used if nothing is known of the real wiki."""
