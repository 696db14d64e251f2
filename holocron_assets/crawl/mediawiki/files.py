"""Files that a wiki's API reports: address, size, SHA-1, type and time of upload."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from holocron_assets.crawl.mediawiki.answers import JsonObject
from holocron_assets.crawl.mediawiki.values import Number, TimeInUtc
from holocron_assets.errors import details_of
from holocron_assets.telemetry.logs import logger

_LOG = logger(__name__)

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
    """The items of `list=allimages`; one that lacks something is left out, and logged.

    Raises:
        ValueError: an item is not built as MediaWiki's.
    """
    return [file for item in items if (file := _described(item))]


def described_files(pages: Iterable[JsonObject]) -> list[ReportedFile]:
    """The files of page objects with `prop=imageinfo`; a page without a file is left out.

    So is a file of which something is lacking; it is logged. The second version of a file, if it was asked
    for, is the one that the first replaced.

    Raises:
        ValueError: a page object is not built as MediaWiki's.
    """
    found = (
        _described({**versions[0], "title": page["title"], "archivename": _replaced(versions)})
        for page in pages
        if (versions := page.get("imageinfo"))
    )
    return [file for file in found if file]


def _described(item: Any) -> ReportedFile | None:
    """A file as the wiki states it; None if it states too little, as of a file whose original is lost."""
    try:
        return ReportedFile.model_validate(item)
    except ValidationError as error:
        if not (isinstance(item, dict) and isinstance(item.get("title"), str)):
            raise
        why = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in details_of(error))
        _LOG.warning("left out a file that its wiki does not describe", file=item["title"], why=why)
        return None


def _replaced(versions: list[JsonObject]) -> Any:
    return versions[1].get("archivename") if len(versions) > 1 else None
