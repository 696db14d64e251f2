"""A source: a wiki or an export of one, and how it is read. Module `files` reads its YAML file."""

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationInfo,
    field_validator,
)

from holocron_assets.crawl.sources.settings import Changes, Politeness
from holocron_assets.frozen_model import FrozenModel
from holocron_assets.lake.files.people_settings import Pattern

Kind = Literal["mediawiki_api", "mediawiki_dump"]
LinksFrom = Literal["wikitext", "api"]

NAME_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,39}")
NAME_RULE = "must start with a small letter and hold only small letters, digits and _, 40 at most"
"""The rule for names, in words for people."""
LARGEST_BATCH = 500  # more pages would make one partition too large to redo; the lake's design fixes it

_TYPE_NAME = re.compile(r"[A-Z][A-Za-z]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
DEFAULT_PORTS: Mapping[str, int] = {"http": 80, "https": 443}
"""The port of an address that names none, by its scheme."""


def _title(text: str) -> str:
    if not text.strip() or _CONTROL.search(text):
        raise ValueError("must be a page title: not empty, and without line breaks or control characters")
    return text


def _type_name(text: str) -> str:
    if not _TYPE_NAME.fullmatch(text):
        raise ValueError("must be the name of a page type, such as PersonCharacter")
    return text


def _host(text: str) -> str:
    name = text.removeprefix("[").removesuffix("]").lower()
    try:
        usable = urlsplit(f"http://[{name}]" if ":" in name else f"http://{name}").hostname == name
    except ValueError:
        usable = False
    if not usable or _CONTROL.search(name) or " " in name:
        raise ValueError("must be a host as in an address, such as localhost or 10.1.2.3, without a port")
    return name


Title = Annotated[StrictStr, AfterValidator(_title)]
HostName = Annotated[StrictStr, AfterValidator(_host)]
TypeName = Annotated[StrictStr, AfterValidator(_type_name)]
Namespace = Annotated[StrictInt, Field(ge=0, le=100_000)]
Count = Annotated[StrictInt, Field(ge=0)]
Share = Annotated[StrictFloat, Field(ge=0, le=1, allow_inf_nan=False)]


class Settings(FrozenModel):
    """A mapping of keys in a source file."""

    # only `explain` shows values of a file, since it knows where they may hold a password
    model_config = ConfigDict(hide_input_in_errors=True)


class Seeds(Settings):
    """Where a crawl starts."""

    titles: tuple[Title, ...] = Field(default=(), description="a list of page titles")
    categories: tuple[Title, ...] = Field(
        default=(), description="a list of category names, whose pages are seeds"
    )
    all_pages: StrictBool = Field(default=False, description="true to start from every page of the wiki")

    @property
    def any(self) -> bool:
        """Whether any seed is named."""
        return bool(self.titles or self.categories or self.all_pages)


_WHOLE = Seeds(all_pages=True)


class Expected(Settings):
    """The counts that a source must reach for its quality checks to pass."""

    min_pages: Count | None = Field(default=None, description="pages, at least")
    min_by_type: dict[TypeName, Count] = Field(default={}, description="pages of each type, at least")
    max_unknown_rate: Share | None = Field(
        default=None, description="share of Unknown pages, at most, from 0 to 1"
    )


class Source(Settings):
    """One wiki, or one export of a wiki, as its YAML file describes it.

    If it is validated with a context of `file` (a Path), the name must be the file's name, and a dump's
    relative address starts from the file's folder. Without one it starts from the working directory.

    Attributes:
        address: the API's URL, or the absolute path of the export.
        depth: links to follow from the seeds; None is without end.
        private_hosts: hosts that may be connected to although their addresses are not public; in small
            letters, without brackets.
        include: RE2 patterns; if there are any, a title must match one of them, at any place in it.
        exclude: RE2 patterns; a title must match none of them.
    """

    # `kind` comes first, because the allowed values of others depend on it
    kind: Kind = Field(description="how it is read")
    name: StrictStr = Field(description="the file's name without .yaml")
    enabled: StrictBool = Field(description="whether it is crawled without being asked: true or false")
    address: StrictStr = Field(description="URL of the wiki's api.php, or path of the export")
    private_hosts: tuple[HostName, ...] = Field(
        default=(),
        description="a list of hosts on this machine or in private networks that may be asked, each as the "
        "address has it",
    )
    namespaces: tuple[Namespace, ...] = Field(
        default=(0,), description="a list of namespace numbers; 0 is articles"
    )
    seeds: Seeds = Field(
        default=Seeds(), validate_default=True, description="titles, categories or all_pages"
    )
    depth: Count | None = Field(
        default=0, description="links to follow from the seeds: 0 is none, 'unlimited' is without end"
    )
    include: tuple[Pattern, ...] = Field(default=(), description="a list of regular expressions for titles")
    exclude: tuple[Pattern, ...] = Field(default=(), description="a list of regular expressions for titles")
    batch_size: Annotated[StrictInt, Field(ge=1, le=LARGEST_BATCH)] = Field(
        default=LARGEST_BATCH, description="pages in a batch"
    )
    links_from: LinksFrom = Field(
        default="wikitext",
        description="'wikitext': links are read from pages; 'api': the wiki is asked for them",
    )
    politeness: Politeness = Field(
        default=Politeness(), validate_default=True, description="limits of the crawl"
    )
    changes: Changes = Field(default=Changes(), description="how it is kept current")
    expected: Expected = Field(default=Expected(), description="counts to assert")

    @field_validator("name")
    @classmethod
    def _name_is_the_files(cls, name: str, info: ValidationInfo) -> str:
        return name_of_file(name, info)

    @field_validator("address")
    @classmethod
    def _address_fits_the_kind(cls, address: str, info: ValidationInfo) -> str:
        match info.data.get("kind"):
            case "mediawiki_api":
                refuse_unless_api(address)
            case "mediawiki_dump":
                folder = info.context["file"].parent if info.context else Path()
                return _dump_path(address, folder)
        return address

    @field_validator("private_hosts")
    @classmethod
    def _dumps_connect_to_nothing(cls, hosts: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if info.data.get("kind") == "mediawiki_dump" and hosts:
            raise ValueError("is for wikis read through their API: a dump is a file of this machine")
        return hosts

    @field_validator("namespaces")
    @classmethod
    def _namespaces_are_named_once(cls, namespaces: tuple[int, ...]) -> tuple[int, ...]:
        if not namespaces or len(set(namespaces)) < len(namespaces):
            raise ValueError("must name at least one namespace, and each once")
        return namespaces

    @field_validator("seeds")
    @classmethod
    def _seeds_fit_the_kind(cls, seeds: Seeds, info: ValidationInfo) -> Seeds:
        match info.data.get("kind"):
            case "mediawiki_api" if not seeds.any:
                raise ValueError("must have a title, a category, or all_pages: true")
            case "mediawiki_dump":
                if seeds.model_fields_set and seeds != _WHOLE:
                    raise ValueError("a dump is read whole: narrow it with namespaces, include and exclude")
                return _WHOLE
        return seeds

    @field_validator("depth", mode="before")
    @classmethod
    def _unlimited_is_no_end(cls, depth: object) -> object:
        return None if depth == "unlimited" else depth

    @field_validator("depth", "links_from")
    @classmethod
    def _dumps_ask_no_wiki(cls, value: int | str | None, info: ValidationInfo) -> int | str | None:
        if info.data.get("kind") == "mediawiki_dump" and value not in (0, "wikitext"):
            raise ValueError("is for wikis read through their API: a dump is read whole")
        return value

    @field_validator("politeness")
    @classmethod
    def _wikis_can_reach_us(cls, politeness: Politeness, info: ValidationInfo) -> Politeness:
        return politeness if info.data.get("kind") != "mediawiki_api" else with_contact(politeness)

    @field_validator("changes")
    @classmethod
    def _dumps_do_not_change(cls, changes: Changes, info: ValidationInfo) -> Changes:
        if info.data.get("kind") == "mediawiki_dump" and changes.model_fields_set:
            raise ValueError("is for wikis read through their API: a dump is read anew when its file changes")
        return changes

    @property
    def host(self) -> str | None:
        """Host and port of the wiki, always with the port; None for a dump."""
        return None if self.kind == "mediawiki_dump" else host_of(self.address)

    @property
    def origin(self) -> str:
        """The place that is read: the API's URL, or the dump's absolute path."""
        return self.address


@lru_cache(maxsize=256)
def host_of(address: str) -> str:
    """Host and port of an `http` or `https` address, always with the port: what limits count for."""
    url = urlsplit(address)
    name = (url.hostname or "").rstrip(".")
    name = f"[{name}]" if ":" in name else name
    return f"{name}:{url.port or DEFAULT_PORTS[url.scheme]}"


def name_of_file(name: str, info: ValidationInfo) -> str:
    """The name of a source, if it is a valid one and that of its file; for validators.

    Raises:
        ValueError: it is not; says what it must be.
    """
    if not NAME_PATTERN.fullmatch(name):
        raise ValueError(NAME_RULE)
    if info.context and name != info.context["file"].stem:
        raise ValueError(f"must be {info.context['file'].stem!r}, as the file is called")
    return name


def with_contact(politeness: Politeness) -> Politeness:
    """Limits that name a contact; for validators.

    Raises:
        ValueError: they name none.
    """
    if politeness.contact is None:
        raise ValueError("needs a contact, an e-mail or web address that is sent with every request")
    return politeness


def refuse_unless_api(address: str) -> None:
    """Return if an address is the bare URL of an `api.php`; for validators.

    Raises:
        ValueError: it is not; says what it must be.
    """
    try:
        url = urlsplit(address)
        usable = url.scheme in DEFAULT_PORTS and url.hostname and url.port != 0
    except ValueError:
        usable = False
    if not usable or _CONTROL.search(address) or " " in address:
        raise ValueError("must be a URL such as https://wiki.example.org/api.php")
    if url.username is not None or url.query or url.fragment:
        raise ValueError("must be the bare URL of api.php, without user, query or fragment")


def _dump_path(address: str, folder: Path) -> str:
    if not address.strip() or _CONTROL.search(address) or "://" in address:
        raise ValueError("must be the path of a MediaWiki XML export, absolute or from this file's folder")
    # Unlike `Path.resolve`, this raises nothing for links in a circle: only the run of this source fails.
    return os.path.realpath(folder / address)
