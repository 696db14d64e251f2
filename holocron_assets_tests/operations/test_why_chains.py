"""`holocron why` names the chain: which input a page waits for, and whose new answer has it asked again."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from asked import DIGEST, interrogation
from fake_ollama import SMALL
from wiki_lake import BATCH, a_wiki

from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.interrogations.chains import linked
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS
from holocron_assets.operations.why.chains import changed_inputs, waits_for

KEY = str(title_key("wiki", "Ash"))
PLAIN: dict[str, Any] = {"rows": {}, "alternatives": []}


def chain(**of_the_first: Any) -> Sequence[Interrogation]:
    def reads(key: str, other: str) -> Interrogation:
        evidence = [{"source": "answers", "of": other}]
        question = "What of {{ title }}?"
        return interrogation(key=key, inputs=[other], evidence=evidence, question=question, **PLAIN)

    first = interrogation(**PLAIN, **of_the_first)
    return linked([first, reads("sayings", "kinds"), reads("thirds", "sayings")])


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return a_wiki(tmp_path, {"Ash": "An '''ash''' is a tree."})


def answer(lake: Lake, asked: Interrogation, kind: str) -> None:
    work = PartitionWork(lake, asked, BATCH, model=SMALL, digest=DIGEST)
    for item in work.ready(datetime.now(UTC)):
        work.start(item)
        work.record(item, Outcome("ok", {"kind": kind}))
    work.publish("run")


def runs(lake: Lake) -> list[dict[str, Any]]:
    rows = [row for scope in lake.partitions(LLM_RUNS) for row in read_partition(lake, LLM_RUNS, scope)]
    return sorted(rows, key=lambda row: row["finished_at"])


def test_the_inputs_that_a_page_waits_for_are_named_from_one_to_the_next(lake: Lake) -> None:
    kinds, sayings, thirds = chain()
    assert waits_for(lake, kinds, BATCH, KEY) is None
    waiting = "it waits for the answer of kinds about this page"
    assert waits_for(lake, thirds, BATCH, KEY) == f"{waiting}: thirds <- sayings <- kinds"
    answer(lake, kinds, "place")
    assert waits_for(lake, sayings, BATCH, KEY) is None
    assert waits_for(lake, thirds, BATCH, KEY) == (
        "it waits for the answer of sayings about this page: thirds <- sayings"
    )


def test_the_answer_that_has_a_page_asked_again_is_named(lake: Lake) -> None:
    for one in chain():
        answer(lake, one, "place")
    kinds, sayings, _ = chain(prompt="Say it anew.")
    assert changed_inputs(lake, sayings, BATCH, KEY, runs(lake)) is None
    answer(lake, kinds, "person")
    [why] = changed_inputs(lake, sayings, BATCH, KEY, runs(lake)) or ()
    assert why.startswith("kinds was answered anew at 20")


def test_the_same_answer_anew_has_no_page_asked_again(lake: Lake) -> None:
    for one in chain():
        answer(lake, one, "place")
    kinds, sayings, _ = chain(prompt="Say it anew.")
    answer(lake, kinds, "place")
    assert changed_inputs(lake, sayings, BATCH, KEY, runs(lake)) is None
