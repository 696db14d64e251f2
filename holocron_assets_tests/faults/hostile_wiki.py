"""Exports that strangers may have written, and Holocrons that have done everything with one."""

from collections.abc import Iterator
from pathlib import Path

from sample_holocron import Holocron, derive, fetch, list_seeds_and_cut

from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.parquet import read_partition

START = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en"><siteinfo>'
    "<sitename>Wiki</sitename><base>http://wiki/</base><case>first-letter</case><namespaces>"
    '<namespace key="0" case="first-letter" /></namespaces></siteinfo>\n'
)
END = "</mediawiki>\n"


def page_xml(
    title: str, number: int = 1, *, text: str = "A text.", time: str = "2024-01-01T00:00:00Z"
) -> str:
    return (
        f"<page><title>{title}</title><ns>0</ns><id>{number}</id><revision><id>{number}</id>"
        f"<timestamp>{time}</timestamp><model>wikitext</model><text>{text}</text></revision></page>\n"
    )


def lake_of(folder: Path, pages: str) -> Holocron:
    """A Holocron that has done everything with an export of some pages."""
    holocron = Holocron(folder)
    (folder / "real.xml").write_text(f"{START}{pages}{END}", encoding="utf-8")
    # a link to a file elsewhere is the person's own affair: the path is from their source file
    (folder / "wiki.xml").symlink_to(folder / "real.xml")
    holocron.add_source("wiki", folder / "wiki.xml")
    batches = list_seeds_and_cut(holocron, "wiki")
    fetch(holocron, batches, "wiki")
    derive(holocron, batches)
    return holocron


def rows_of(holocron: Holocron, table: Table) -> Iterator[Row]:
    for name in holocron.lake.partitions(table):
        yield from read_partition(holocron.lake, table, name)
