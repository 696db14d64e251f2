"""What tests of several rooms share: the sample wiki and a real MediaWiki, each made once a session."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from real_mediawiki import SHARED, RealWiki, running_wiki

if TYPE_CHECKING:
    from sample_holocron import Holocron


@pytest.fixture(scope="session")
def fetched_sample(tmp_path_factory: pytest.TempPathFactory) -> "Holocron":
    """The sample wiki, fetched and no more. Shared by all tests: copy it to change it."""
    import sample_holocron as sample  # noqa: PLC0415 - it loads every room; most tests need one

    holocron = sample.sample_holocron(tmp_path_factory.mktemp("fetched"))
    sample.fetch(holocron, sample.list_seeds_and_cut(holocron))
    return holocron


@pytest.fixture(scope="session")
def finished_sample(tmp_path_factory: pytest.TempPathFactory, fetched_sample: "Holocron") -> "Holocron":
    """The sample wiki, up to its entities. Shared by all tests: copy it to change it."""
    import sample_holocron as sample  # noqa: PLC0415 - the same

    holocron = fetched_sample.copy_to(tmp_path_factory.mktemp("finished"))
    sample.derive(holocron, [sample.SAMPLE_BATCH])
    return holocron


@pytest.fixture(scope="session")
def realwiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealWiki]:
    """A real MediaWiki; the test is skipped where there is none to start."""
    if not (SHARED / "realwiki" / "realwiki").exists():
        pytest.skip("needs the real MediaWiki of ../shared, which is not beside this checkout")
    with running_wiki(tmp_path_factory.mktemp("realwiki")) as wiki:
        yield wiki
