"""Groups of work: what a file may say, what a failure does to the rest, and that a killed run goes on."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from holocron_assets.crawl.sources.files import SourceError
from holocron_assets.errors import PermanentError
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import GROUP_STEPS
from holocron_assets.operations.groups import Group, GroupRun, Step, begin_or_go_on, last_run, read_group
from holocron_assets.settings import PROJECT_FOLDER


def group(**on_failure: str) -> Group:
    """Four steps; `second` needs `first`, `third` needs `second`, and `fourth` none."""
    needs = {"second": ["first"], "third": ["second"]}
    steps = [
        {"name": name, "run": f"hash {name}", "needs": needs.get(name, [])}
        | ({"on_failure": on_failure[name]} if name in on_failure else {})
        for name in ("first", "second", "third", "fourth")
    ]
    return Group.model_validate({"title": "A group", "steps": steps})


def running(codes: Mapping[str, int], ran: list[str]) -> Callable[[Step], int]:
    def run(step: Step) -> int:
        ran.append(step.name)
        return codes.get(step.name, 0)

    return run


def interrupted(_step: Step) -> int:
    raise KeyboardInterrupt


def outcome(lake: Lake, of: Group, **codes: int) -> tuple[list[str], list[str], GroupRun]:
    """The steps that ran, what became of each, and the run."""
    run, ran = begin_or_go_on(lake, "some", of), list[str]()
    run.work(running(codes, ran), lambda _: None)
    return ran, [str(row["status"]) for row in last_run(lake, "some")], run


def test_every_step_is_run_in_order(tmp_path: Path) -> None:
    ran, statuses, run = outcome(Lake(tmp_path), group())
    assert ran == ["first", "second", "third", "fourth"]
    assert (statuses, run.has_failed, run.run_id) == (["done"] * 4, False, "some-000001")


def test_stop_ends_the_group(tmp_path: Path) -> None:
    ran, statuses, run = outcome(Lake(tmp_path), group(), second=3)
    assert ran == ["first", "second"]
    assert statuses == ["done", "failed", "canceled", "canceled"]
    assert (run.has_failed, run.is_over) == (True, True)


def test_continue_runs_the_rest_except_what_needs_it_directly_or_not(tmp_path: Path) -> None:
    ran, statuses, run = outcome(Lake(tmp_path), group(first="continue"), first=1)
    assert ran == ["first", "fourth"]
    assert (statuses, run.has_failed) == (["failed", "skipped", "skipped", "done"], True)


def test_skip_leaves_out_all_that_follows_and_cancels_nothing(tmp_path: Path) -> None:
    ran, statuses, run = outcome(Lake(tmp_path), group(second="skip"), second=1)
    assert ran == ["first", "second"]
    assert (statuses, run.has_failed, run.is_over) == (
        ["done", "failed", "skipped", "skipped"],
        True,
        True,
    )
    assert all(row["ended_at"] for row in last_run(run.lake, "some"))


def test_a_run_that_an_earlier_version_stopped_is_over(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    outcome(lake, group(), first=1)
    left = [{**row, "status": "stopped"} for row in last_run(lake, "some")]
    write_partition(lake, GROUP_STEPS, "some-000001", left)
    assert begin_or_go_on(lake, "some", group()).run_id == "some-000002"


@pytest.mark.parametrize("killed_at", ["first", "second", "fourth"])
def test_a_run_that_was_killed_goes_on_with_the_step_that_it_was_at(tmp_path: Path, killed_at: str) -> None:
    lake, ran = Lake(tmp_path), list[str]()

    def dying(step: Step) -> int:
        if step.name == killed_at:
            raise KeyboardInterrupt
        ran.append(step.name)
        return 0

    with pytest.raises(KeyboardInterrupt):
        begin_or_go_on(lake, "some", group()).work(dying, lambda _: None)
    again, statuses, run = outcome(lake, group())
    assert ran + again == ["first", "second", "third", "fourth"], "nothing is run twice, nothing left out"
    assert (statuses, run.run_id) == (["done"] * 4, "some-000001")


def test_a_kill_right_after_a_failure_that_stops_the_group_lets_no_later_step_run(tmp_path: Path) -> None:
    lake = Lake(tmp_path)

    def dying_once_it_failed(line: str) -> None:
        if "failed with exit code" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin_or_go_on(lake, "some", group()).work(running({"first": 1}, []), dying_once_it_failed)
    assert [row["status"] for row in last_run(lake, "some")] == ["failed", "canceled", "canceled", "canceled"]
    _, _, run = outcome(lake, group())
    assert run.run_id == "some-000002", "it was over"


def test_a_run_that_was_left_with_a_failure_and_the_rest_waiting_stops_when_it_goes_on(
    tmp_path: Path,
) -> None:
    lake = Lake(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        begin_or_go_on(lake, "some", group()).work(interrupted, lambda _: None)
    left = [dict(row) for row in last_run(lake, "some")]
    left[0] |= {"status": "failed", "exit_code": 1}  # as earlier versions could be killed
    write_partition(lake, GROUP_STEPS, "some-000001", left)
    ran, statuses, run = outcome(lake, group())
    assert (ran, statuses) == ([], ["failed", "canceled", "canceled", "canceled"])
    assert (run.run_id, run.has_failed, run.is_over) == ("some-000001", True, True)


def test_a_run_that_ended_or_is_of_another_file_is_followed_by_a_new_one(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    outcome(lake, group(), first=1)
    ran, _, run = outcome(lake, group())
    assert (len(ran), run.run_id) == (4, "some-000002")
    with pytest.raises(KeyboardInterrupt):
        begin_or_go_on(lake, "some", group()).work(interrupted, lambda _: None)
    assert begin_or_go_on(lake, "some", group()).run_id == "some-000003"
    assert begin_or_go_on(lake, "some", group(first="skip")).run_id == "some-000004"


def test_a_group_whose_name_begins_like_anothers_is_another(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    run = begin_or_go_on(lake, "some_more", group())
    run.work(running({}, []), lambda _: None)
    assert last_run(lake, "some") == []
    assert len(last_run(lake, "some_more")) == 4


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("steps: []", "key 'title': is missing"),
        ("title: A\nsteps: []", "line 2, key 'steps'"),
        ("title: A\nsteps:\n  - {name: a}", r"line 3, key 'steps\[0\].run': is missing"),
        ("title: A\nsteps:\n  - {name: a, run: hash, on_failure: retry}", r"on_failure': must be .*'stop'"),
        ("title: A\nsteps:\n  - {name: a, run: hash, need: [b]}", "did you mean 'needs'"),
        (
            "title: A\nsteps:\n  - {name: a, run: hash, needs: [b]}",
            "'a' needs 'b', which is no step before it",
        ),
        ("title: A\nsteps:\n  - {name: a, run: x}\n  - {name: a, run: y}", "two are called 'a'"),
    ],
)
def test_whatever_is_wrong_with_a_file_is_named(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "some.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=problem):
        read_group(tmp_path, "some")


def test_a_wrong_value_in_a_list_is_not_reported_as_an_empty_list_too(tmp_path: Path) -> None:
    text = "title: A\nsteps:\n  - {name: a, run: hash, on_failure: retry}"
    (tmp_path / "some.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SourceError) as error:
        read_group(tmp_path, "some")
    assert [problem.key for problem in error.value.problems] == ["steps[0].on_failure"]


def test_a_missing_group_is_reported_with_the_names_of_those_that_exist(tmp_path: Path) -> None:
    (tmp_path / "some.yaml").write_text("title: A\n", encoding="utf-8")
    with pytest.raises(PermanentError, match=r"no group is called 'other'.*there are some"):
        read_group(tmp_path, "other")


@pytest.mark.parametrize("name", ["night-export", "Night", "1st", "n" * 41])
def test_a_group_that_dagster_could_not_call_a_schedule_by_is_refused_by_name(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / f"{name}.yaml").write_text("title: A\nsteps: [{name: a, run: hash}]\n", encoding="utf-8")
    with pytest.raises(PermanentError, match=rf"{name}.yaml: its name must start with a small letter"):
        read_group(tmp_path, name)


def test_the_shipped_group_can_be_read() -> None:
    assert [step.name for step in read_group(PROJECT_FOLDER / "data" / "groups", "night").steps] == [
        "crawl",
        "check",
        "export",
    ]
