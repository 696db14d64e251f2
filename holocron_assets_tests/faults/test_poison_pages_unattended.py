"""A page that ends its process each time, while nobody watches: the sensors do the rest."""

import os
from pathlib import Path

import pytest
from tiny_wiki import TEXTS
from whole_holocron import UNFINISHED, WholeHolocron, until, whole_holocron

from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.tables import PAGE_SIGNALS, PAGE_TYPES, UNREAD_PAGES
from holocron_assets.planning.job_names import PARTITION_TAG

pytestmark = pytest.mark.full

HERE = Path(__file__).parent
POISON = "tiny-000001"
NESTED = "{{nobr|{{small|DIES-OF-SEGFAULT}}}}"  # only the parser reads templates in templates
POISONED = {**TEXTS, "Lamp": TEXTS["Lamp"].replace("name=Lamp", f"name=Lamp|hobby={NESTED}")}
MOST_RUNS = 6


def is_dead(whole: WholeHolocron) -> bool:
    return whole.lake.has(UNREAD_PAGES, f"{POISON}-page_signals") and whole.lake.has(PAGE_TYPES, POISON)


def runs_of_poison(whole: WholeHolocron) -> int:
    return sum(run.tags.get(PARTITION_TAG) == POISON for run in whole.runs())


@pytest.mark.fault(10, "a page ends every run worker that reads it, with the sensors on")
def test_the_sensors_bring_a_poison_page_to_its_end_and_go_on_with_the_others(tmp_path: Path) -> None:
    clean, poisoned = tmp_path / "clean", tmp_path / "poisoned"
    clean.mkdir()
    poisoned.mkdir()
    with whole_holocron(clean, texts=POISONED, pages=4) as whole:
        whole.finish()
        expected = whole.hashes()
    with whole_holocron(poisoned, texts=POISONED, pages=4) as whole:
        # what every Python runs that finds it on its path
        (poisoned / "sitecustomize.py").write_text("import deadly_parser\ndeadly_parser.make_deadly()\n")
        deadly = {"PYTHONPATH": os.pathsep.join([str(poisoned), str(HERE)])}
        whole.environment.update(deadly)
        daemon = whole.start_daemon()
        until(lambda: is_dead(whole), "the page is dead-lettered and its batch done", seconds=900, every=1)
        assert whole.lake.has(PAGE_TYPES, "small-000001")
        until(lambda: not whole.runs(*UNFINISHED), "nothing is under way", seconds=300, every=1)
        (letter,) = whole.rows(UNREAD_PAGES)
        assert (letter["title"], letter["attempts"]) == ("Lamp", 4)
        (signals,) = read_partition(whole.lake, PAGE_SIGNALS, POISON)
        assert signals["extraction_error"] == letter["error"]
        # two more at the most: the run that ended well, and one that a slow machine began at the same time
        assert runs_of_poison(whole) <= MOST_RUNS
        daemon.terminate()
        daemon.wait(timeout=120)
        status = whole.command("status")
        assert "Lamp: the process ended while reading it, in 4 attempts" in status.stdout
        # a repaired parser, and a person who knows
        for name in deadly:
            del whole.environment[name]
        back = whole.command(
            "requeue", "--source", "tiny", "--title", "Lamp", "--reason", "the parser is mended"
        )
        assert back.returncode == 0, back.stderr
        whole.finish()
        assert whole.hashes() == expected
