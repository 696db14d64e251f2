"""`holocron files`, and what other commands say of files."""

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from click.testing import CliRunner, Result
from file_rows import put_list, put_outcomes
from file_server import FileServer, answer
from sample_dagster import definitions_of
from sample_holocron import Holocron

from holocron_assets.cli.main import main
from holocron_assets.cli.work import local_run as local_commands
from holocron_assets.crawl.files.artifact import artifact_key
from holocron_assets.crawl.frontier.file_batches import cut_file_batches
from holocron_assets.crawl.sources.files import load_file_source
from holocron_assets.lake.files import verifying
from holocron_assets.lake.files.damage import DamagedPartitionError
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.files.verifying import damage_of
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tracebacks import keep_tracebacks

pytestmark = pytest.mark.system

PNG = b"\x89PNG\r\n\x1a\n" + b"salt" * 100


@dataclass
class Commands:
    """Commands over folders of their own, and the server that they fetch from."""

    folder: Path
    server: FileServer

    @property
    def lake(self) -> Lake:
        return Lake(self.folder / "data")

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOLOCRON_DATA": str(self.folder / "data"),
            "HOLOCRON_SOURCES": str(self.folder / "sources"),
            "HOLOCRON_STATE": str(self.folder / "state"),
            "DAGSTER_HOME": str(self.folder / "dagster"),
            "HOLOCRON_LLM": "off",
            "COLUMNS": "100",
        }

    def __call__(self, *words: str) -> Result:
        return CliRunner().invoke(main, list(words), env=self.environment)

    def json(self, *words: str) -> Any:
        done = self(*words, "--json")
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    def crawl(self) -> None:
        """Crawl as if this process had been started for it, with a history of runs in memory."""
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(local_commands, "open_instance", dg.DagsterInstance.ephemeral)
            patched.setattr(local_commands, "definitions", lambda: definitions_of(Holocron(self.folder)))
            done = self("crawl", "--source", "added")
        assert done.exit_code == 0, done.output

    def add(self, *words: str) -> Result:
        """Add to a source of our own, which may ask loopback and is quick."""
        done = self("files", "add", *words, "--contact", "tests@example.org")
        path = self.folder / "sources" / "added.yaml"
        if path.exists():
            quick = path.read_text().replace("requests_per_second: 1\n", "requests_per_second: 100\n")
            hosts = "" if "private_hosts" in quick else "private_hosts: [127.0.0.1]\n"
            path.write_text(quick + hosts)
        return done


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Commands]:
    (tmp_path / "sources").mkdir()
    with FileServer() as server:
        yield Commands(tmp_path, server)


def test_what_a_person_adds_is_fetched_once_shown_opened_and_verified(run: Commands) -> None:
    url = run.server.serve("/salt.png", answer(200, PNG, Content_Type="image/png", ETag='"1"'))
    gone = run.server.url("/gone.png")
    assert "added 2 files" in run.add(url, gone).output
    assert "added 0 files to source added; 1 known before" in run.add(url).output
    run.crawl()
    listed = {row["name"]: row for row in run.json("files", "list")}
    assert {name: row["state"] for name, row in listed.items()} == {url: "ok", gone: "missing"}
    [shown] = run.json("files", "show", url)
    assert [one["reason"] for one in shown["attempts"]] == ["http-200"]
    opened = run("files", "open", url, "--print").output.strip()
    assert Path(opened).read_bytes() == PNG
    assert "1 file verified, 0 wrong" in run("files", "verify").output
    run.crawl()
    assert len(run.server.asked_for("/salt.png")) == 1


def test_why_and_status_speak_of_files(run: Commands) -> None:
    url = run.server.serve("/salt.png", answer(200, PNG, Content_Type="image/png"))
    run.add(url)
    assert run("why", url).exit_code == 1  # no list was read yet, so nothing is known of it
    run.crawl()
    [told] = run.json("why", url)
    assert (told["source"], told["answers"][0]["about"]) == ("added", "fetched")
    assert "It was fetched" in told["answers"][0]["says"]
    status = run.json("status")
    assert [(one["source"], one["kind"]) for one in status["sources"]] == [("added", "http_files")]
    assert [(one["stage"], one["done"]) for one in status["stages"]] == [("files", 1)]


def test_why_shows_the_traceback_of_a_file_that_failed(run: Commands) -> None:
    url = run.server.url("/salt.png")
    run.add(url)
    put_list(run.lake, url, source="added")
    source, now = load_file_source(run.folder / "sources" / "added.yaml"), utc_now()
    [batch] = cut_file_batches(run.lake, source, now=now)
    failed = {"error": f"{url}: the connection broke", "due_at": now + timedelta(minutes=2)}
    put_outcomes(run.lake, batch, "failed", at=now, **failed)
    traceback = "Traceback (most recent call last):\nReadError"
    keep_tracebacks(run.lake, batch, "files", {str(artifact_key(f"url:{url}")): traceback})
    [answer] = run.json("why", url)[0]["answers"]
    assert answer["says"].startswith("It failed, and is due again at ")
    assert answer["traceback"] == traceback
    assert "Traceback (most recent call last)" in run("why", url).output


def test_a_damaged_object_is_found_and_fetched_again(run: Commands) -> None:
    url = run.server.serve("/salt.png", answer(200, PNG, Content_Type="image/png"))
    run.add(url)
    run.crawl()
    [row] = run.json("files", "show", url)
    object_path = FileStore(run.lake).path(row["file"]["sha256"])
    object_path.write_bytes(b"other bytes")
    done = run("files", "verify")
    assert done.exit_code == 1
    assert url.rpartition("/")[2] in done.output.replace("\n", "")
    assert not object_path.exists()
    run.crawl()
    assert object_path.read_bytes() == PNG
    assert "1 file verified, 0 wrong" in run("files", "verify").output


def test_an_object_that_the_system_cannot_read_is_named_and_all_others_are_verified(
    run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = {f"/{name}.png": PNG + name.encode() for name in "abc"}
    run.add(*(run.server.serve(path, answer(200, body)) for path, body in bodies.items()))
    run.crawl()
    store = FileStore(run.lake)
    bad, whole, damaged = sorted(store.path(hashlib.sha256(body).hexdigest()) for body in bodies.values())
    damaged.write_bytes(b"other bytes")

    def on_a_bad_sector(file: Path) -> DamagedPartitionError | None:
        if file == bad:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return damage_of(file)

    monkeypatch.setattr(verifying, "damage_of", on_a_bad_sector)
    done = run("files", "verify")
    assert (done.exit_code, "3 files verified, 2 wrong" in done.output) == (1, True)
    assert f"{bad} cannot be read (Input/output error): check its disk" in done.stderr
    assert [file.exists() for file in (bad, whole, damaged)] == [True, True, False]


def test_a_list_with_a_wrong_line_adds_nothing_and_names_the_line(run: Commands) -> None:
    listed = run.folder / "list.csv"
    listed.write_text("url\nhttps://a.example/x\nnonsense\n")
    done = run.add("--from", str(listed))
    assert done.exit_code == 1
    assert "line 3" in done.output
    assert not (run.folder / "sources" / "added.yaml").exists()


def test_a_new_source_wants_a_contact_and_a_page_source_takes_no_files(run: Commands) -> None:
    done = run("files", "add", "https://a.example/x")
    assert done.exit_code == 1
    assert "--contact" in done.output
    (run.folder / "sources" / "wiki.yaml").write_text(
        "name: wiki\nenabled: false\nkind: mediawiki_dump\naddress: wiki.xml\n"
    )
    done = run("files", "add", "https://a.example/x", "--source", "wiki")
    assert done.exit_code == 1
    assert "kind" in done.output


@pytest.mark.parametrize(
    "words",
    [
        ("no url",),
        ("https://a.example/x", "--source", "../../far"),
        ("https://a.example/x", "--source", "Bad"),
    ],
)
def test_a_refused_command_makes_no_source_and_no_list(run: Commands, words: tuple[str, ...]) -> None:
    done = run("files", "add", *words, "--contact", "tests@example.org")
    assert done.exit_code == 1
    assert [path.name for path in run.folder.rglob("*") if path.suffix in {".yaml", ".jsonl"}] == []


def test_a_file_that_nobody_knows_is_named_with_what_lists_them(run: Commands) -> None:
    done = run("files", "show", "File:Nothing.png")
    assert done.exit_code == 1
    assert "holocron files list" in done.output
