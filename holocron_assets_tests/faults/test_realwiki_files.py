"""The pictures of a real MediaWiki, by sensors alone: everything is killed, and then pictures change."""

import json
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from held import processes_of
from real_mediawiki import SHARED, RealWiki, wiki_of
from unattended import start_ui
from whole_holocron import WholeHolocron, kill_group, until, whole_holocron

from holocron_assets.lake.files.store import FileStore

pytestmark = pytest.mark.realwiki

TEXTS = {"Salt": "'''Salt''' is a mineral. [[File:Picture 0001.png|thumb|Salt]]"}
IN_FLIGHT, DELETED, MOVED = 4, 5, 3
SOURCE = """
name: pictures
enabled: true
kind: mediawiki_files
address: {api_url}
private_hosts: [127.0.0.1]
wanted: all
list_every_minutes: 1
batch_size: 250
expect: [image/png]
politeness: {{contact: tests@example.org, requests_per_second: 100.0, burst: 20, requests_in_flight: 4}}
"""
FETCHED = """
    select url, count(*) as times
    from http_attempts
    where resolver is not null and reason = 'http-200'
    group by url
"""
STATES = "select state, count(*) as files from files group by state"


@pytest.fixture
def wiki(tmp_path: Path) -> Iterator[RealWiki]:
    if not (SHARED / "realwiki" / "realwiki").exists():
        pytest.skip("needs the real MediaWiki of ../shared, which is not next to this checkout")
    with wiki_of(tmp_path, TEXTS) as running:
        yield running


@pytest.fixture
def whole(tmp_path: Path, wiki: RealWiki) -> Iterator[WholeHolocron]:
    folder = tmp_path / "holocron"
    folder.mkdir()
    with whole_holocron(folder, pages=0, interrogations=()) as whole:
        (whole.holocron.sources_folder / "tiny.yaml").unlink()
        (whole.holocron.sources_folder / "pictures.yaml").write_text(SOURCE.format(api_url=wiki.api_url))
        yield whole


def make_pictures(folder: Path, number: int, width: int = 64) -> list[Path]:
    """Pictures, each with other bytes; those of another width are others."""
    program = SHARED / "realwiki" / "make_images.py"
    arguments = [sys.executable, str(program), str(folder), str(number), str(width)]
    subprocess.run(arguments, check=True, capture_output=True)  # noqa: S603 - our own program
    return sorted(folder.iterdir())


def stated(wiki: RealWiki) -> dict[str, str]:
    """The SHA-1 of every file, as the wiki states it."""
    asked = {"action": "query", "list": "allimages", "ailimit": "max", "aiprop": "sha1", "format": "json"}
    found: dict[str, str] = {}
    more: dict[str, str] = {}
    while True:
        with urlopen(f"{wiki.api_url}?{urlencode({**asked, **more})}") as reply:  # noqa: S310 - our own wiki
            said = json.load(reply)
        found |= {item["title"]: item["sha1"] for item in said["query"]["allimages"]}
        more = said.get("continue", {})
        if not more:
            return found


def ask(whole: WholeHolocron, sql: str) -> list[dict[str, Any]]:
    done = whole.command("sql", "--json", sql)
    assert done.returncode == 0, done.stdout + done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def objects(whole: WholeHolocron) -> list[Path]:
    return [path for path in whole.lake.objects.glob("??/*") if len(path.name) == len("0" * 64)]


def held(whole: WholeHolocron) -> dict[str, str]:
    """The SHA-1 of the bytes of every file that a source lists now, read from the store itself."""
    rows = ask(whole, "select unnest(names) as name, sha256 from files where state = 'ok'")
    store = FileStore(whole.lake)
    return {row["name"]: sha1(store.path(row["sha256"]).read_bytes()).hexdigest() for row in rows}  # noqa: S324


@pytest.mark.parametrize(
    ("number", "kills"),
    [
        pytest.param(150, 1, marks=pytest.mark.fault(1, "all processes are killed while 150 files come")),
        pytest.param(
            2000,
            3,
            marks=[
                pytest.mark.full,
                pytest.mark.fault(1, "all processes are killed three times while 2,000 files come"),
            ],
        ),
    ],
)
def test_files_come_once_whatever_is_killed_and_then_exactly_those_that_change(
    wiki: RealWiki, whole: WholeHolocron, tmp_path: Path, number: int, kills: int
) -> None:
    pictures = make_pictures(tmp_path / "pictures", number)
    wiki.admin("upload", str(tmp_path / "pictures"))
    for kill in range(1, kills + 1):
        running = start_ui(whole)
        enough = number * kill // (kills + 2)
        until(lambda enough=enough: len(objects(whole)) >= enough, "files come", seconds=300, every=0.05)  # type: ignore[misc]
        kill_group(running)
        whole.end()
        until(lambda: not processes_of(whole.holocron.folder), "all is gone", seconds=60)
        assert len(objects(whole)) < number, "the kill came too late to cut anything short"
    start_ui(whole)
    until(lambda: held(whole) == stated(wiki), "every file is held", seconds=600, every=2)
    assert len(objects(whole)) == number
    again = [row for row in ask(whole, FETCHED) if row["times"] > 1]
    assert len(again) <= kills * IN_FLIGHT

    before = {row["url"]: row["times"] for row in ask(whole, FETCHED)}
    changed = change(wiki, pictures, tmp_path / "new", number // 100)
    until(lambda: held(whole) == stated(wiki), "what changed is held too", seconds=400, every=2)
    whole.end()
    after = {row["url"]: row["times"] for row in ask(whole, FETCHED)}
    newly = {url.rpartition("/")[2] for url, times in after.items() if times > before.get(url, 0)}
    assert newly == changed, "only files with other bytes are fetched"
    states = {row["state"]: row["files"] for row in ask(whole, STATES)}
    assert states == {"ok": number - DELETED, "unlisted": number // 100 + DELETED}
    assert whole.command("files", "verify").returncode == 0


def change(wiki: RealWiki, pictures: list[Path], new: Path, replaced: int) -> set[str]:
    """Replace some pictures, delete five, and move three; return names of those with other bytes."""
    make_pictures(new, replaced, width=65)
    for picture in pictures[: replaced + DELETED]:
        wiki.admin("delete", f"File:{picture.name}")
    wiki.admin("upload", str(new))
    for picture in pictures[-MOVED:]:
        wiki.admin("move", f"File:{picture.name}", f"File:Moved {picture.name}")
    return {picture.name.replace(" ", "_") for picture in pictures[:replaced]}
