"""Ratios that are recorded and compared by `benchmarks/ratios.py`, and their picture."""

import ast
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from growth import PICTURE, Figure, draw, faster_than_n_log_n, read_figures
from side_by_side.drawing import svg
from side_by_side.printing import change_of, complaints
from side_by_side.recorded import Machine, Run, better_of, judged, read_runs, record, run_of
from side_by_side.row import Row, Scale, compared, in_turns

from holocron_assets.settings import PROJECT_FOLDER

DOCS = PROJECT_FOLDER / "docs"
STALE = "the picture is older than the recorded runs: python benchmarks/ratios.py --draw"


def row(name: str, ratio: float, *, peer: str = "Scrapy") -> Row:
    return Row(name, "CPU ms", ratio * 2, peer, 2.0, ratio, 3)


def run(commit: str, *rows: Row, scale: Scale = "quick") -> Run:
    return Run(commit, "2026-11-26", Machine("a processor", 2, 1.5), scale, rows)


def change(now: Row, runs: Sequence[Run]) -> str:
    (one,) = judged([now], runs, "quick")
    return change_of(one)


def test_a_ratio_that_is_a_third_worse_fails_and_names_its_row() -> None:
    runs = [run("aaa", row("crawl", 3.0), row("import", 3.0))]
    found = judged([row("crawl", 4.0), row("import", 3.6)], runs, "quick")
    assert complaints(found) == ["crawl: 4.00 times Scrapy, and 3.00 was recorded (+33%)"]


def test_a_ratio_that_is_better_or_a_little_worse_passes() -> None:
    runs = [run("aaa", row("crawl", 4.0), row("import", 4.0))]
    assert complaints(judged([row("crawl", 1.0), row("import", 5.0)], runs, "quick")) == []


def test_a_row_that_no_run_has_is_new_and_passes() -> None:
    assert change(row("crawl", 9.0), []) == "new"
    assert complaints(judged([row("crawl", 9.0)], [run("aaa", row("import", 1.0))], "quick")) == []


def test_the_newest_run_that_has_the_row_counts() -> None:
    runs = [run("aaa", row("crawl", 1.0)), run("bbb", row("crawl", 2.0)), run("ccc", row("import", 5.0))]
    assert change(row("crawl", 3.0), runs) == "+50%"


def test_ratios_to_another_peer_or_of_another_scale_are_not_compared() -> None:
    runs = [
        run("aaa", row("crawl", 1.0, peer="another crawler")),
        run("bbb", row("crawl", 1.0), scale="full"),
    ]
    assert change(row("crawl", 9.0), runs) == "new"


def test_a_row_that_was_measured_twice_keeps_its_lower_ratio() -> None:
    first, second = [row("crawl", 2.0), row("files", 1.0)], [row("crawl", 1.5), row("files", 1.2)]
    assert [one.ratio for one in better_of(first, second)] == [1.5, 1.0]


def test_the_best_turn_of_each_side_makes_the_ratio() -> None:
    cost = compared("crawl", "CPU ms", "Scrapy", [(6.0, 2.0), (4.0, 3.0)])
    assert (cost.ours, cost.peer_figure, cost.ratio, cost.repetitions) == (4.0, 2.0, 2.0, 2)


def test_a_rate_is_turned_round_so_that_less_is_better() -> None:
    rate = compared("crawl", "pages/s", "Scrapy", [(100.0, 300.0), (200.0, 500.0)], is_rate=True)
    assert (rate.ours, rate.peer_figure, rate.ratio) == (200.0, 500.0, 2.5)


def test_a_rate_by_the_clock_is_shown_and_not_judged_since_it_depends_on_the_machine() -> None:
    before, now = (
        compared("crawl's rate", "pages/s", "Scrapy", [(ours, 500.0)], is_rate=True)
        for ours in (250.0, 100.0)
    )
    found = judged([now], [run("aaa", before)], "quick")
    assert change_of(found[0]) == "+150%"
    assert complaints(found) == []


def test_both_sides_are_measured_in_turns() -> None:
    done: list[str] = []

    def noted(who: str) -> str:
        done.append(who)
        return who

    turns = in_turns(lambda turn: noted(f"ours {turn}"), lambda turn: noted(f"peer {turn}"), 2)
    assert turns == [("ours 0", "peer 0"), ("ours 1", "peer 1")]
    assert done == ["ours 0", "peer 0", "ours 1", "peer 1"]


def test_what_is_recorded_is_read_as_it_was(tmp_path: Path) -> None:
    runs = [run("aaa", row("crawl", 1.0)), run("bbb", row("crawl", 2.0), scale="full")]
    for one in runs:
        record(one, tmp_path / "results.json")
    assert read_runs(tmp_path / "results.json") == runs


def test_nothing_is_recorded_without_a_file(tmp_path: Path) -> None:
    assert read_runs(tmp_path / "results.json") == []


def test_rows_of_one_commit_come_into_one_run(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    record(run("aaa", row("crawl", 1.0), row("files", 1.0)), file)
    record(run("aaa", row("crawl", 2.0), row("import", 3.0)), file)
    (one,) = read_runs(file)
    assert {row.name: row.ratio for row in one.rows} == {"crawl": 2.0, "files": 1.0, "import": 3.0}


def test_a_run_says_when_and_on_which_code_and_processor_it_was() -> None:
    made = run_of([row("crawl", 1.0)], "quick")
    assert made.commit
    assert len(made.date) == len("2026-11-26")
    assert made.machine.processor
    assert made.machine.cores >= 1


@pytest.mark.parametrize(
    "runs", [[], [run("aaa", row("a < b", 0.5))], [run("aaa"), run("bbb", row("c", 2.0))]]
)
def test_a_picture_is_drawn_of_any_runs(runs: list[Run]) -> None:
    assert ET.fromstring(svg(runs)).tag.endswith("svg")  # noqa: S314 - our own text


def test_a_picture_shows_each_row_with_its_newest_ratio_and_the_commits() -> None:
    drawn = svg([run("aaa", row("crawl", 1.0)), run("bbb", row("crawl", 2.25), row("files", 0.5))])
    assert all(text in drawn for text in (">crawl<", ">files<", "beside: Scrapy", ">2.25<", ">aaa<", ">bbb<"))


def test_rows_of_full_scale_are_drawn_apart() -> None:
    quick = run("aaa", row("crawl", 1.0))
    drawn = svg([quick, replace(quick, commit="bbb", scale="full")])
    assert ">crawl<" in drawn
    assert ">crawl, at full scale<" in drawn


def test_the_picture_in_the_docs_is_drawn_from_what_is_recorded() -> None:
    assert (DOCS / "speed.svg").read_text(encoding="utf-8") == svg(read_runs()), STALE


def grown(*seconds: float) -> list[Figure]:
    """Some work at 2, 20 and 200 thousand pages."""
    sizes = (2_000, 20_000, 200_000)
    return [Figure("status", pages, cpu, 300) for pages, cpu in zip(sizes, seconds, strict=False)]


def test_work_that_grows_like_n_log_n_or_slower_is_not_named() -> None:
    assert list(faster_than_n_log_n(grown(1.0, 13.0, 160.0))) == []
    assert list(faster_than_n_log_n(grown(1.0, 1.1, 1.5))) == []


def test_work_that_grows_faster_is_named_with_the_step_at_which_it_does() -> None:
    [line] = faster_than_n_log_n(grown(1.0, 10.0, 400.0))
    assert line.startswith("status grew faster than n log n: 40.0 times from 20,000 to 200,000 pages")


def test_growth_is_drawn_with_a_line_for_each_work(tmp_path: Path) -> None:
    draw([*grown(1.0, 10.0, 100.0), Figure("import", 2_000, 20.0, 600)], tmp_path / "growth.svg")
    drawn = (tmp_path / "growth.svg").read_text(encoding="utf-8")
    assert ET.fromstring(drawn).tag.endswith("svg")  # noqa: S314 - our own text
    assert all(text in drawn for text in ("status", "import", "CPU, ms a page", "most memory, MiB"))


def test_the_picture_of_growth_in_the_docs_shows_all_that_is_recorded() -> None:
    drawn = PICTURE.read_text(encoding="utf-8")
    assert all(figure.name in drawn for figure in read_figures())


def what_must_be_given(program: Path) -> Iterator[str]:
    """The arguments without which a program does not start."""
    for call in ast.walk(ast.parse(program.read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "add_argument":
            name = ast.literal_eval(call.args[0])
            given = {word.arg: word.value for word in call.keywords}
            if "required" in given or not (name.startswith("-") or "nargs" in given):
                yield name


def test_make_bench_names_only_benchmarks_that_start_without_arguments() -> None:
    commands = subprocess.run(
        ["make", "--dry-run", "bench"],  # noqa: S607 - from PATH, as people type it
        cwd=PROJECT_FOLDER,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    named = set(re.findall(r"benchmarks/\w+\.py", commands))
    assert {"benchmarks/answer_accuracy.py", "benchmarks/ratios.py"} <= named
    lacking = {name: [*what_must_be_given(PROJECT_FOLDER / name)] for name in sorted(named)}
    assert {name: given for name, given in lacking.items() if given} == {}
