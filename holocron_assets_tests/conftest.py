"""What tests of several rooms share: a sample wiki, a real MediaWiki, a small model; each made once."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from examples import load_profiles
from fault_table import faults_of, note_faults, table
from real_mediawiki import SHARED, RealWiki, running_wiki

if TYPE_CHECKING:
    from sample_holocron import Holocron

    from holocron_assets.lake.place.paths import Lake
    from holocron_assets.operations.state.status import Status

load_profiles()

# No test asks a model unless it says so: a run about something else would fetch one, and ask for minutes.
os.environ["HOLOCRON_LLM"] = "off"
for name in ("OLLAMA_HOST", "HOLOCRON_MODEL"):
    os.environ.pop(name, None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the reports say which faults their tests injected, and long tests start first.

    A long test that starts late is waited for by every other process.
    """
    note_faults(items)
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End with the table of faults, if any were injected."""
    reports = [
        report
        for some in terminalreporter.stats.values()
        for report in some
        if isinstance(report, pytest.TestReport)
    ]
    if faults := faults_of(reports):
        terminalreporter.section("faults injected")
        for line in table(faults):
            terminalreporter.write_line(line)


def pytest_unconfigure() -> None:
    """Take Hypothesis out of Python's garbage collection.

    Its callback is there until the process is gone, with all that it refers to. DuckDB's types were among
    that, and its bindings then say that these leaked.
    """
    gc.callbacks[:] = [one for one in gc.callbacks if not one.__module__.startswith("hypothesis.")]


@pytest.fixture(autouse=True)
def _signals_are_heard() -> None:
    """Hear signals also where this process was started to ignore them: all that it starts would too."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGTERM) == signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@pytest.fixture(scope="session")
def fetched_sample(tmp_path_factory: pytest.TempPathFactory) -> "Holocron":
    """The sample wiki, fetched and no more. Shared by all tests: copy it to change it."""
    import sample_holocron as sample  # noqa: PLC0415 - it loads every room; most tests need one

    holocron = sample.sample_holocron(tmp_path_factory.mktemp("fetched"))
    sample.fetch(holocron, sample.list_seeds_and_cut(holocron))
    return holocron


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The hashes of `small_and_open`, which nothing happened to: its processes ran to their end."""
    from small_and_open import small_and_open  # noqa: PLC0415 - it loads every room

    with small_and_open(tmp_path_factory.mktemp("clean")) as whole:
        whole.finish()
        return whole.hashes()


@pytest.fixture(scope="session")
def finished_sample(tmp_path_factory: pytest.TempPathFactory, fetched_sample: "Holocron") -> "Holocron":
    """The sample wiki, up to its entities. Shared by all tests: copy it to change it."""
    import sample_holocron as sample  # noqa: PLC0415 - the same

    holocron = fetched_sample.copy_to(tmp_path_factory.mktemp("finished"))
    sample.derive(holocron, [sample.SAMPLE_BATCH])
    return holocron


@pytest.fixture(scope="session")
def indexed_sample(tmp_path_factory: pytest.TempPathFactory, finished_sample: "Holocron") -> "Holocron":
    """The finished sample with a search index, without vectors. Shared by all tests: copy it to change it."""
    from holocron_assets.retrieval.index.index import SearchIndex  # noqa: PLC0415 - the same

    holocron = finished_sample.copy_to(tmp_path_factory.mktemp("indexed"))
    SearchIndex(holocron.lake).update()
    return holocron


@pytest.fixture(scope="session")
def busy(tmp_path_factory: pytest.TempPathFactory, finished_sample: "Holocron") -> "Holocron":
    """The sample wiki, with something of everything going on. Shared by all tests: copy it to change it."""
    from busy_holocron import make_busy  # noqa: PLC0415 - the same

    holocron = finished_sample.copy_to(tmp_path_factory.mktemp("busy"))
    make_busy(holocron)
    return holocron


@pytest.fixture(scope="session")
def busy_status(busy: "Holocron") -> "Status":
    """The status of that Holocron; a snapshot costs a second."""
    from watched_sample import status_of  # noqa: PLC0415 - the same

    return status_of(busy)


@pytest.fixture(scope="session")
def made_review_lake(tmp_path_factory: pytest.TempPathFactory) -> "Lake":
    """A lake with something of every kind to review. Shared by all tests: copy it to change it."""
    from review_lake import review_lake  # noqa: PLC0415 - it loads several rooms; few tests review

    return review_lake(tmp_path_factory.mktemp("review"))


@pytest.fixture(scope="session")
def made_alike_lake(tmp_path_factory: pytest.TempPathFactory) -> "Lake":
    """A lake with questions about several items that are alike. Shared by all tests: copy it to change it."""
    from alike_lake import alike_lake  # noqa: PLC0415 - the same

    return alike_lake(tmp_path_factory.mktemp("alike"))


@pytest.fixture(scope="session")
def made_proposals_lake(tmp_path_factory: pytest.TempPathFactory) -> "Lake":
    """A lake whose open pages share templates. Shared by all tests: copy it to change it."""
    from proposals_lake import proposals_lake  # noqa: PLC0415 - the same

    return proposals_lake(tmp_path_factory.mktemp("proposals"))


@pytest.fixture(scope="session")
def realwiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealWiki]:
    """A real MediaWiki; the test is skipped where there is none to start."""
    if not (SHARED / "realwiki" / "realwiki").exists():
        pytest.skip("needs the real MediaWiki of ../shared, which is not next to this checkout")
    with running_wiki(tmp_path_factory.mktemp("realwiki")) as wiki:
        yield wiki


@pytest.fixture(scope="session")
def model_file() -> Path:
    """The file of `smollm2:135m`, 98 MB, fetched once for all test runs of this user."""
    from holocron_assets.derive.server.errors import ModelFileError  # noqa: PLC0415 - the same
    from holocron_assets.derive.server.model_files.catalog import shipped_catalog  # noqa: PLC0415 - few tests need a model
    from holocron_assets.derive.server.model_files.fetching import own_model_files  # noqa: PLC0415 - the same

    try:
        return own_model_files().fetch(shipped_catalog().find("smollm2:135m"))
    except ModelFileError as error:
        pytest.skip(f"the model that this needs cannot be had: {error}")


@pytest.fixture(scope="session")
def children_of() -> Callable[[int], list[int]]:
    """Gives the processes that one started and that still live, from /proc."""

    def find(parent: int) -> list[int]:
        states = {int(file.parent.name): _state(file) for file in Path("/proc").glob("[0-9]*/stat")}
        return [pid for pid, (state, started_by) in states.items() if started_by == parent and state != "Z"]

    return find


def _state(file: Path) -> tuple[str, int]:
    """A process's state and the one that started it."""
    try:
        state, parent = file.read_text().rpartition(")")[2].split()[:2]
    except OSError:  # it ended meanwhile
        return "Z", 0
    return state, int(parent)
