"""A small Holocron whose rules leave a page open, so that a model is asked, and what must hold of it."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from held import page_requests
from whole_holocron import UNFINISHED, WholeHolocron, whole_holocron

from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.tables import ENTITIES, LLM_RUNS, PAGES

TEXTS = {
    "Lamp": "{{Character|name=Lamp}}\n'''Lamp''' was a human pilot of the [[Odd]]. She knew [[Shade]].",
    "Shade": "'''Shade''' is a planet. [[Category:Planets]]",
    "Odd": "The '''Odd''' was seen by [[Lamp]].",
}
UNDER_WAY_AT_A_KILL = 4
"""Titles in the requests, and questions, that a process has under way at most in this Holocron."""


@contextmanager
def small_and_open(folder: Path) -> Iterator[WholeHolocron]:
    with whole_holocron(folder, texts=TEXTS, pages=0, interrogations=("page_classification",)) as whole:
        source = whole.holocron.sources_folder / "tiny.yaml"
        source.write_text(source.read_text().replace("titles: [Lamp]", f"titles: [{', '.join(TEXTS)}]"))
        yield whole


def expect_nothing_lost_or_doubled(whole: WholeHolocron, clean: dict[str, Any], *, kills: int) -> None:
    """Compare with a Holocron that nothing happened to; what a kill cut short may have been asked again."""
    assert not whole.runs(*UNFINISHED)
    assert whole.hashes() == clean
    for table in (PAGES, LLM_RUNS, ENTITIES):
        assert doubled(whole, table) == []
    asked = page_requests(whole.wiki)
    assert set(asked) >= set(TEXTS)
    assert repeats(asked) <= kills * UNDER_WAY_AT_A_KILL
    assert whole.ollama.chats
    assert repeats(Counter(chat.prompt for chat in whole.ollama.chats)) <= kills * UNDER_WAY_AT_A_KILL
    with whole.instance() as instance:
        for pool in ("crawl", "gpu"):
            assert not instance.event_log_storage.get_concurrency_info(pool).claimed_slots


def doubled(whole: WholeHolocron, table: Table) -> list[Any]:
    """Keys of rows that are in a table more than once."""
    keys = Counter(tuple(row[name] for name in table.key) for row in whole.rows(table))
    return [key for key, times in keys.items() if times > 1]


def repeats(times: "Counter[str]") -> int:
    """How often something was done that had been done already."""
    return times.total() - len(times)
