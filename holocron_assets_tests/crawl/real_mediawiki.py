"""A real MediaWiki on loopback, holding real pages and some of our own."""

import json
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

SHARED = Path(__file__).parents[3] / "shared"

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


@contextmanager
def running_wiki(folder: Path) -> Iterator[RealWiki]:
    """A MediaWiki with the 64 wikitext pages of ../shared and `EXTRA_PAGES`, until the block ends."""
    with wiki_of(folder, EXTRA_PAGES, SHARED / "wookieepedia" / "wikitext_pages.jsonl.gz") as wiki:
        yield wiki


@contextmanager
def wiki_of(folder: Path, texts: Mapping[str, str], *more: Path) -> Iterator[RealWiki]:
    """A MediaWiki with pages of our own, by title, and those of files, until the block ends."""
    own = folder / "own.jsonl"
    own.write_text(
        "".join(json.dumps({"title": title, "wikitext": text}) + "\n" for title, text in texts.items())
    )
    wiki = RealWiki(f"http://127.0.0.1:{_free_port()}/api.php", folder / "state")
    port = wiki.api_url.split(":")[-1].removesuffix("/api.php")
    try:
        # Parallel test workers each start one; the first start installs packages, which only one can do.
        with FileLock(Path(tempfile.gettempdir()) / "holocron-tests-realwiki.lock"):
            _realwiki("start", str(wiki.state), port, *map(str, more), str(own))
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
