"""Files that a wiki's API reports: address, size, SHA-1, type and time of upload."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from holocron_assets.crawl.mediawiki.answers import JsonObject
from holocron_assets.crawl.mediawiki.values import Number, TimeInUtc

FILE_PROPERTIES = "url|size|sha1|mime|timestamp"
"""What is asked about a file, as `iiprop` and `aiprop` take it."""


class ReportedFile(BaseModel):
    """A file as the wiki states it.

    Attributes:
        title: title of its page, with the wiki's namespace prefix.
        url: address of the original.
        size: bytes.
        sha1: SHA-1 of the original, hexadecimal.
        mime: type.
        timestamp: when this version was uploaded.
        archivename: name of the version that it replaced, where that was asked for.
    """

    title: str
    url: str
    size: Annotated[Number, Field(ge=0)]
    sha1: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    mime: str
    timestamp: TimeInUtc
    archivename: str | None = None


def listed_files(items: Iterable[Any]) -> list[ReportedFile]:
    """The items of `list=allimages`.

    Raises:
        ValueError: an item is not built as MediaWiki's.
    """
    return [ReportedFile.model_validate(item) for item in items]


def described_files(pages: Iterable[JsonObject]) -> list[ReportedFile]:
    """The files of page objects with `prop=imageinfo`; a page without a file is left out.

    The second version of a file, if it was asked for, is the one that the first replaced.

    Raises:
        ValueError: a page object is not built as MediaWiki's.
    """
    return [
        ReportedFile.model_validate(
            {**versions[0], "title": page["title"], "archivename": _replaced(versions)}
        )
        for page in pages
        if (versions := page.get("imageinfo"))
    ]


def _replaced(versions: list[JsonObject]) -> Any:
    return versions[1].get("archivename") if len(versions) > 1 else None
