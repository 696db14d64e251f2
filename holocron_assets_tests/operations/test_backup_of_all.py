"""A whole Holocron is backed up again and again while it runs; each backup goes on where that one was."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import sqlalchemy as sql
from held import page_requests
from postgres_server import postgres_server
from sample_holocron import Holocron
from small_and_open import TEXTS, UNDER_WAY_AT_A_KILL, doubled, repeats, small_and_open
from whole_holocron import WholeHolocron, until

from holocron_assets.lake.tables import ENTITIES, LLM_RUNS, PAGES

pytestmark = pytest.mark.full

KEYS = [dg.AssetKey(name) for name in ("pages", "page_types", "entities")]


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[WholeHolocron]:
    with small_and_open(tmp_path / "whole") as made:
        yield made


def back_up(whole: WholeHolocron) -> Path:
    done = whole.command("backup", str(whole.holocron.folder / "backups"))
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(done.stdout.partition(":")[0])


def restored(whole: WholeHolocron, backup: Path, folder: Path, **environment: str) -> WholeHolocron:
    """Another data folder with the same settings, wiki and model server, filled from a backup."""
    holocron = replace(whole.holocron, folder=folder)
    other = replace(whole, holocron=holocron, environment={**whole.environment, **environment}, started=[])
    done = other.command("restore", str(backup))
    assert done.returncode == 0, done.stdout + done.stderr
    return other


@pytest.fixture
def other_folder(tmp_path: Path, whole: WholeHolocron) -> Callable[[int], Path]:
    def make(number: int) -> Path:
        folder = tmp_path / f"restored-{number}"
        folder.mkdir()
        (folder / "sources").symlink_to(whole.holocron.sources_folder)
        return folder

    return make


def shown_in_dagster(whole: WholeHolocron) -> list[Any]:
    """What Dagster shows of some assets: which partitions are there, and of which event that is."""
    with whole.instance() as instance:
        return [(sorted(instance.get_materialized_partitions(key)), _newest(instance, key)) for key in KEYS]


def _newest(instance: dg.DagsterInstance, key: dg.AssetKey) -> Any:
    event = instance.get_latest_materialization_event(key)
    return event and (event.run_id, event.timestamp)


@dataclass(frozen=True)
class Made:
    """A backup, and what had been asked when it was begun and when it was there."""

    backup: Path
    pages_before: Counter[str]
    prompts_before: Counter[str]
    pages_after: Counter[str]


def prompts(whole: WholeHolocron) -> Counter[str]:
    return Counter(chat.prompt for chat in whole.ollama.chats)


@contextmanager
def staleness(work: Callable[[], None]) -> Iterator[None]:
    """Do something again and again in a thread; what goes wrong there fails the test."""
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(0.5):
            work()

    with ThreadPoolExecutor(1) as pool:
        going_on = pool.submit(go_on)
        try:
            yield
        finally:
            ended.set()
        going_on.result()


@pytest.fixture
def made(whole: WholeHolocron) -> list[Made]:
    """Backups of a run: made inside requests, while it waits for an answer, and by another thread."""
    backups: list[Made] = []
    making = threading.Lock()

    def make() -> None:
        with making:
            before = page_requests(whole.wiki), prompts(whole)
            backups.append(Made(back_up(whole), *before, page_requests(whole.wiki)))

    answer, answer_chat = whole.wiki.answer, whole.ollama.answer

    def backed_up(asked: Mapping[str, str]) -> dict[str, Any]:
        if "titles" in asked:
            make()
        return answer(asked)

    def backed_up_chat(chat: Any) -> Any:
        make()
        return answer_chat(chat)

    whole.wiki.answer, whole.ollama.answer = backed_up, backed_up_chat
    running = whole.start("run")
    until((whole.lake.root / "lake").is_dir, "a lake that could be backed up")
    with staleness(make):
        assert running.wait(900) == 0, whole.log.read_text(encoding="utf-8")
    whole.wiki.answer, whole.ollama.answer = answer, answer_chat
    return backups


def test_a_backup_made_at_any_moment_of_a_run_goes_on_from_there_and_asks_nothing_twice(
    whole: WholeHolocron, made: list[Made], clean: dict[str, Any], other_folder: Callable[[int], Path]
) -> None:
    assert whole.hashes() == clean
    assert len(made) > 5
    for number, one in enumerate(made[:: max(1, len(made) // 5)]):
        whole.wiki.requests.clear()
        whole.ollama.chats.clear()
        other = restored(whole, one.backup, other_folder(number))
        other.finish()
        assert other.hashes() == clean
        for table in (PAGES, LLM_RUNS, ENTITIES):
            assert doubled(other, table) == []
        again = page_requests(whole.wiki)
        assert set(again + one.pages_after) >= set(TEXTS)
        assert repeats(again + one.pages_before) <= UNDER_WAY_AT_A_KILL
        assert repeats(prompts(whole) + one.prompts_before) <= UNDER_WAY_AT_A_KILL


def test_what_dagster_knew_is_there_again_and_nothing_is_left_to_do(
    whole: WholeHolocron, other_folder: Callable[[int], Path]
) -> None:
    whole.finish()
    before, hashes, backup = shown_in_dagster(whole), whole.hashes(), back_up(whole)
    other = restored(whole, backup, other_folder(0))
    assert shown_in_dagster(other) == before
    assert [run.run_id for run in other.runs()] == [run.run_id for run in whole.runs()]
    assert all(partitions for partitions, _ in before)
    assert other.hashes() == hashes
    whole.wiki.requests.clear()
    whole.ollama.chats.clear()
    other.finish()
    assert other.hashes() == hashes
    assert (page_requests(whole.wiki), whole.ollama.chats) == (Counter(), [])
    assert shown_in_dagster(other) == before, "nothing had to be done again"
    refused = other.command("restore", str(backup))
    assert refused.returncode == 1
    assert "is not empty, and nothing is overwritten" in refused.stderr
    assert shown_in_dagster(other) == before


def test_a_history_in_postgresql_is_backed_up_and_comes_back_in_another_database(
    whole: WholeHolocron, other_folder: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres_server() as server:
        monkeypatch.setenv("HOLOCRON_POSTGRES_URL", server.url)
        whole.finish()
        before, backup = shown_in_dagster(whole), back_up(whole)
        engine = sql.create_engine(server.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sql.text("create database another"))
        engine.dispose()
        folder = other_folder(0)
        taken = replace(whole, holocron=Holocron(folder)).command("restore", str(backup))
        assert taken.returncode == 1
        assert "the database of HOLOCRON_POSTGRES_URL is not empty" in taken.stderr
        monkeypatch.setenv("HOLOCRON_POSTGRES_URL", server.url.replace("/postgres", "/another"))
        other = restored(whole, backup, folder)
        assert shown_in_dagster(other) == before
        hashes = other.hashes()
        other.finish()
        assert (shown_in_dagster(other), other.hashes()) == (before, hashes)
