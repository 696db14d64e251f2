"""Which of a source's batches table `known_links` covers, and which the frontier must read itself."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from holocron_assets.crawl.sources.source import Source
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.versions import module_version
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import BATCH_PAGES, KNOWN_LINKS, PAGE_LINKS, PAGES, SEED_TITLES

_SEEDS = "seeds"
_DEPTH = "depth"
_MADE_BY = ("sql/new_rows.sql", "sql/step.sql", "sql/known_titles.sql")

KNOWN_LINKS_VERSION = content_hash(
    "\n".join(files(__package__).joinpath(name).read_text(encoding="utf-8") for name in _MADE_BY)
    + module_version("holocron_assets.crawl.frontier.known_links")
)[:12]


@dataclass(frozen=True)
class Coverage:
    """The batches of a source that `known_links` holds, and the others. Batches are in order of their names.

    Attributes:
        is_usable: whether `known_links` starts from the current seeds and has the depth that the source has
            now.
        covered: batches that it holds, each with a mark of the files read; none if it is not usable.
        new: finished batches that it does not hold.
        new_with_links: those of them whose links were read.
        unfinished: batches whose pages are not in the lake yet.
    """

    is_usable: bool
    covered: Mapping[str, str]
    new: list[str]
    new_with_links: list[str]
    unfinished: list[str]


def coverage(lake: Lake, source: Source) -> Coverage:
    """The coverage of a source, found by the names of batches, which takes little time."""
    covered = _covered(lake, source)
    finished = _of_source(lake.partitions(PAGES), source)
    linked = set(lake.partitions(PAGE_LINKS))
    new = [batch for batch in finished if batch not in (covered or {})]
    there = set(finished)
    return Coverage(
        is_usable=covered is not None,
        covered=covered or {},
        new=new,
        new_with_links=[batch for batch in new if batch in linked],
        unfinished=[b for b in _of_source(lake.partitions(BATCH_PAGES), source) if b not in there],
    )


def without_known_links(lake: Lake, source: Source) -> Coverage:
    """The coverage as if there were no `known_links`."""
    finished = _of_source(lake.partitions(PAGES), source)
    linked = set(lake.partitions(PAGE_LINKS))
    return Coverage(
        is_usable=False,
        covered={},
        new=finished,
        new_with_links=[batch for batch in finished if batch in linked],
        unfinished=[],
    )


def present_marks(lake: Lake, source: Source) -> dict[str, str]:
    """What the source's `known_links` depends on in addition to its batches: seeds and depth."""
    footer = read_footer(lake, SEED_TITLES, source.name)
    listed = [footer.content_id, dict(footer.inputs)] if footer else []
    return {_SEEDS: content_hash(json.dumps(listed, sort_keys=True)), _DEPTH: str(source.depth)}


def batch_mark(lake: Lake, batch: str) -> str | None:
    """A text that changes with a batch's pages or links; None while its links were not read."""
    footer = read_footer(lake, PAGE_LINKS, batch)
    if footer is None:
        return None
    return content_hash(f"{footer.content_id} {footer.inputs.get(PAGES.name)}")[:16]


def _covered(lake: Lake, source: Source) -> dict[str, str] | None:
    footer = read_footer(lake, KNOWN_LINKS, source.name)
    if footer is None or footer.code_version != KNOWN_LINKS_VERSION:
        return None
    marks = dict(footer.inputs)
    if {name: marks.pop(name, None) for name in (_SEEDS, _DEPTH)} != present_marks(lake, source):
        return None
    return marks


def _of_source(batches: list[str], source: Source) -> list[str]:
    return [batch for batch in batches if source_of(batch) == source.name]
