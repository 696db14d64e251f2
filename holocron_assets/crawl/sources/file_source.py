"""A source of files: the files of a wiki, or lists of addresses, and how they are fetched."""

import os
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationInfo,
    field_validator,
)

from holocron_assets.crawl.files.artifact import normalized_url
from holocron_assets.crawl.sources.settings import Politeness
from holocron_assets.crawl.sources.source import (
    LARGEST_BATCH,
    HostName,
    Settings,
    host_of,
    name_of_file,
    refuse_unless_api,
    with_contact,
)
from holocron_assets.lake.files.people_settings import Pattern

FileKind = Literal["mediawiki_files", "http_files"]
FILE_KINDS: tuple[FileKind, ...] = ("mediawiki_files", "http_files")

_MIME = re.compile(r"[a-z]+/(\*|[a-z0-9.+-]+)")
_ENTRY_POINT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_LABEL = re.compile(r"[a-z0-9_]{1,40}")
_LARGEST_FILE = 2**40
_MOST_FILES_OF_A_BATCH = 2_000
_SECONDS_OF_A_BATCH = 480


def _mime(text: str) -> str:
    if not _MIME.fullmatch(text):
        raise ValueError("must be a type such as image/png, or image/* for all of a kind")
    return text


def _label(text: str) -> str:
    if not _LABEL.fullmatch(text):
        raise ValueError("must hold only small letters, digits and _, 40 at most")
    return text


def _entry_point(text: str) -> str:
    if not _ENTRY_POINT.fullmatch(text):
        raise ValueError("must be module:function, such as my_resolvers:by_doi")
    return text


class Resolver(Settings):
    """How the addresses of an artifact are found. The resolvers of a source are tried in order."""

    use: Literal["direct", "imageinfo", "template", "python"] = Field(
        description="direct takes the address that the source states; imageinfo asks the wiki for it; "
        "template fills one in; python calls a function"
    )
    name: Annotated[StrictStr, AfterValidator(_label)] | None = Field(
        default=None, description="its name in tables and metrics; `use` without one"
    )
    template: StrictStr | None = Field(
        default=None,
        validate_default=True,
        description="for template: an address with placeholders: {name}, {sha1}, {doi} or a list's field",
    )
    function: Annotated[StrictStr, AfterValidator(_entry_point)] | None = Field(
        default=None,
        validate_default=True,
        description="for python: module:function, which takes an artifact and gives addresses",
    )
    requests_per_second: Annotated[StrictFloat, Field(gt=0, le=100, allow_inf_nan=False)] | None = Field(
        default=None, description="requests started in a second to its addresses, at most, over all hosts"
    )
    requests_in_flight: Annotated[StrictInt, Field(ge=1, le=32)] | None = Field(
        default=None, description="files that come from its addresses at once, at most, over all hosts"
    )
    head: StrictBool = Field(default=False, description="whether size and type are asked with HEAD first")

    @field_validator("template", "function")
    @classmethod
    def _fits_its_use(cls, value: str | None, info: ValidationInfo) -> str | None:
        wanted = {"template": "template", "function": "python"}[str(info.field_name)]
        is_wanted = info.data.get("use") == wanted
        if is_wanted is (value is None):
            raise ValueError(f"is needed by resolvers that use {wanted}, and is for no other")
        return value

    @property
    def label(self) -> str:
        """Its name in tables and metrics."""
        return self.name or self.use


class FileListing(Settings):
    """A list of artifacts: a file of this machine, a sitemap, or a column of a view."""

    file: StrictStr | None = Field(
        default=None, description="path of JSON lines or CSV with a header, from this file's folder"
    )
    sitemap: StrictStr | None = Field(default=None, description="URL of a sitemap or of a sitemap index")
    view: StrictStr | None = Field(default=None, description="a view of the lake; `column` holds addresses")
    column: StrictStr | None = Field(
        default=None, validate_default=True, description="the view's column with addresses"
    )

    @field_validator("file")
    @classmethod
    def _file_is_from_the_source_files_folder(cls, file: str | None, info: ValidationInfo) -> str | None:
        if file is None:
            return None
        folder = info.context["file"].parent if info.context else Path()
        return os.path.realpath(folder / file)

    @field_validator("sitemap")
    @classmethod
    def _sitemap_can_be_asked_for(cls, sitemap: str | None) -> str | None:
        if sitemap is not None:
            normalized_url(sitemap)
        return sitemap

    @field_validator("column")
    @classmethod
    def _names_one_list(cls, column: str | None, info: ValidationInfo) -> str | None:
        # What is wrong by itself is missing in `data`, and was named all the same.
        named = [key for key in ("file", "sitemap", "view") if info.data.get(key, True)]
        if len(named) != 1:
            raise ValueError("a list has exactly one of file, sitemap and view")
        if (named == ["view"]) is (column is None):
            raise ValueError("goes with view, and only with view: it names the view's column of addresses")
        return column

    @property
    def label(self) -> str:
        """What it is, for people and for table `file_list`."""
        return self.file or self.sitemap or f"{self.view}.{self.column}"


class FileSource(Settings):
    """A source of files, as its YAML file describes it.

    Attributes:
        address: for `mediawiki_files` the API's URL; empty for `http_files`.
        wanted: which of a wiki's files.
        pages_of: the sources whose pages and entities use the files.
    """

    kind: FileKind = Field(description="how it is read")
    name: StrictStr = Field(description="the file's name without .yaml")
    enabled: StrictBool = Field(description="whether it is fetched without being asked: true or false")
    address: StrictStr = Field(default="", description="for mediawiki_files: URL of the wiki's api.php")
    wanted: Literal["all", "pages", "entities"] = Field(
        default="pages", description="all files of the wiki, or those that pages or promoted entities use"
    )
    pages_of: tuple[StrictStr, ...] = Field(
        default=(),
        validate_default=True,
        description="a list of sources whose pages use the files, for wanted: pages or entities",
    )
    lists: tuple[FileListing, ...] = Field(
        default=(), validate_default=True, description="for http_files: where artifacts are named"
    )
    resolvers: tuple[Resolver, ...] = Field(
        default=(Resolver(use="direct"),), description="how addresses are found, tried in order"
    )
    include: tuple[Pattern, ...] = Field(default=(), description="a list of regular expressions for names")
    exclude: tuple[Pattern, ...] = Field(default=(), description="a list of regular expressions for names")
    expect: tuple[Annotated[StrictStr, AfterValidator(_mime)], ...] = Field(
        default=(), description="a list of types that a file may have, such as image/*; any without one"
    )
    max_bytes: Annotated[StrictInt, Field(ge=1, le=_LARGEST_FILE)] = Field(
        default=256 * 2**20, description="bytes of a file, at most"
    )
    list_every_minutes: Annotated[StrictInt, Field(ge=1, le=525_600)] = Field(
        default=1440, description="minutes between two readings of the lists"
    )
    recheck_after_hours: Annotated[StrictInt, Field(ge=1, le=87_600)] | None = Field(
        default=None, description="for http_files: hours after which a file is asked for again, if it changed"
    )
    batch_size: Annotated[StrictInt, Field(ge=1, le=_MOST_FILES_OF_A_BATCH)] | None = Field(
        default=None,
        description="files in a batch; without it, what the rate allows in 8 minutes, 500 to 2000",
    )
    private_hosts: tuple[HostName, ...] = Field(
        default=(), description="a list of hosts on this machine or in private networks that may be asked"
    )
    politeness: Politeness = Field(
        default=Politeness(), validate_default=True, description="limits for each host"
    )

    @property
    def host(self) -> str | None:
        """Host and port of the wiki, always with the port; None where lists name many hosts."""
        return host_of(self.address) if self.address else None

    @property
    def files_in_a_batch(self) -> int:
        """Files that one run fetches. A run by itself takes a second, which counts where files come fast."""
        in_time = int(self.politeness.requests_per_second * _SECONDS_OF_A_BATCH)
        return self.batch_size or min(max(in_time, LARGEST_BATCH), _MOST_FILES_OF_A_BATCH)

    @property
    def origin(self) -> str:
        """What is read: the API's URL, or the lists."""
        return self.address or ", ".join(listing.label for listing in self.lists)

    @field_validator("name")
    @classmethod
    def _name_is_the_files(cls, name: str, info: ValidationInfo) -> str:
        return name_of_file(name, info)

    @field_validator("address")
    @classmethod
    def _address_fits_the_kind(cls, address: str, info: ValidationInfo) -> str:
        if info.data.get("kind") == "mediawiki_files":
            refuse_unless_api(address)
        elif address:
            raise ValueError("is for mediawiki_files; http_files names its addresses in lists")
        return address

    @field_validator("pages_of")
    @classmethod
    def _pages_are_named(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if info.data.get("kind") == "mediawiki_files" and info.data.get("wanted") != "all" and not names:
            raise ValueError("must name the sources whose pages use the files, unless wanted is all")
        return names

    @field_validator("lists")
    @classmethod
    def _lists_fit_the_kind(
        cls, lists: tuple[FileListing, ...], info: ValidationInfo
    ) -> tuple[FileListing, ...]:
        if (info.data.get("kind") == "http_files") is (not lists):
            raise ValueError("is needed by http_files, and is for no other kind")
        return lists

    @field_validator("resolvers")
    @classmethod
    def _resolvers_have_names_of_their_own(
        cls, resolvers: tuple[Resolver, ...], info: ValidationInfo
    ) -> tuple[Resolver, ...]:
        labels = [resolver.label for resolver in resolvers]
        if not labels or len(set(labels)) < len(labels):
            raise ValueError("must have at least one resolver, and each a name of its own")
        if info.data.get("kind") != "mediawiki_files" and any(one.use == "imageinfo" for one in resolvers):
            raise ValueError("imageinfo asks a wiki: it is for mediawiki_files")
        return resolvers

    @field_validator("politeness")
    @classmethod
    def _hosts_can_reach_us(cls, politeness: Politeness) -> Politeness:
        return with_contact(politeness)
