"""How many files a batch has."""

import pytest

from holocron_assets.crawl.sources.file_source import FileListing, FileSource
from holocron_assets.crawl.sources.settings import Politeness


@pytest.mark.parametrize(
    ("rate", "stated", "expected"), [(0.1, None, 500), (2.0, None, 960), (100.0, None, 2000), (100.0, 50, 50)]
)
def test_a_batch_has_what_eight_minutes_allow_unless_its_source_says_otherwise(
    rate: float, stated: int | None, expected: int
) -> None:
    source = FileSource(
        kind="http_files",
        name="papers",
        enabled=True,
        lists=(FileListing(file="list.csv"),),
        batch_size=stated,
        politeness=Politeness(contact="tests@example.org", requests_per_second=rate),
    )
    assert source.files_in_a_batch == expected
