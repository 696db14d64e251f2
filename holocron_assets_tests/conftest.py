"""What tests of several rooms share: a real MediaWiki on loopback, started once a session."""

import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

# Fakes that several test files use lie beside them; pytest's importlib mode puts no folder on the path.
sys.path.append(str(Path(__file__).parent / "crawl"))
sys.path.append(str(Path(__file__).parent / "orchestration"))

if TYPE_CHECKING:
    from sample_holocron import Holocron

SHARED = Path(__file__).parents[2] / "shared"

EXTRA_PAGES = {
    "Seven hundred links": " ".join(f"[[Linked {number:03}]]" for number in range(700)),
    "Five megabytes": "A line of a long page.\n" * (5_000_000 // 23),
    "É" + "é" * 126 + "x": "'''It''' has a title of 255 bytes. [[Category:Odd titles]]",
    "One/Two/slashes are no path": "'''Slashes''' are part of it. [[Category:Odd titles]]",
    "Éclair": "'''Éclair''' is composed. [[Category:Odd titles]] [[Category:Cakes]]",
    "ÉCLAIR": "'''ÉCLAIR''' is another page. [[Category:Odd titles]]",
    "Old éclair": "#REDIRECT [[Éclair]] [[Category:Cakes]]",
}


@dataclass(frozen=True)
class RealWiki:
    """A running MediaWiki."""

    api_url: str
    state: Path

    def admin(self, verb: str, *arguments: str, text: str | None = None) -> None:
        """Change the wiki: `edit TITLE` with text, `delete TITLE`, `undelete TITLE`, `move FROM TO`."""
        _realwiki(verb, str(self.state), *arguments, text=text)


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
    """A real MediaWiki holding the 64 wikitext pages of ../shared and `EXTRA_PAGES`."""
    if not (SHARED / "realwiki" / "realwiki").exists():
        pytest.skip("needs the real MediaWiki of ../shared, which is not beside this checkout")
    folder = tmp_path_factory.mktemp("realwiki")
    extra = folder / "extra.jsonl"
    extra.write_text(
        "".join(json.dumps({"title": title, "wikitext": text}) + "\n" for title, text in EXTRA_PAGES.items())
    )
    wiki = RealWiki(f"http://127.0.0.1:{_free_port()}/api.php", folder / "state")
    port = wiki.api_url.split(":")[-1].removesuffix("/api.php")
    pages = SHARED / "wookieepedia" / "wikitext_pages.jsonl.gz"
    try:
        # Parallel test workers each start one; the first start installs packages, which only one can do.
        with FileLock(Path(tempfile.gettempdir()) / "holocron-tests-realwiki.lock"):
            _realwiki("start", str(wiki.state), port, str(pages), str(extra))
        yield wiki
    finally:
        _realwiki("stop", str(wiki.state))


def _realwiki(*arguments: str, text: str | None = None) -> None:
    command = [str(SHARED / "realwiki" / "realwiki"), *arguments]
    # Its server outlives the command and would keep a pipe open for ever: a file takes the output.
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(  # noqa: S603 - a fixed program with our own arguments
            command,
            input=text,
            stdin=None if text is not None else subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            text=True,
            timeout=600,
            check=False,
        )
        output.seek(0)
        assert done.returncode == 0, f"{' '.join(command)} failed:\n{output.read()}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
