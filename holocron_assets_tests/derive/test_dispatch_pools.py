"""The file that says how work is dispatched, and what follows for models of several pools."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from holocron_assets.derive.dispatch.choosing import Ageing, Waiting
from holocron_assets.derive.dispatch.plans import plan, plan_turns
from holocron_assets.derive.dispatch.pools import DispatchSettings, read_dispatch_settings
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.lake.files.people_settings import SettingsError
from holocron_assets.settings import PROJECT_FOLDER, written_by_people

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
REMOTE = "pools: {remote: {models: ['*-cloud', 'far/*'], limit: 2}}"


def settings(tmp_path: Path, text: str) -> DispatchSettings:
    file = tmp_path / "dispatch.yaml"
    file.write_text(text, encoding="utf-8")
    return read_dispatch_settings(file)


def work(name: str, model: str, priority: int = 500) -> Waiting:
    return Waiting(name, model, priority, 10, NOW)


def test_the_file_that_is_shipped_says_what_would_be_done_without_it(tmp_path: Path) -> None:
    shipped = read_dispatch_settings(PROJECT_FOLDER / "data" / "dispatch.yaml")
    assert shipped == read_dispatch_settings(tmp_path / "none.yaml") == DispatchSettings()
    assert shipped.rules == Ageing(50, 300)


def test_the_file_can_be_moved(tmp_path: Path) -> None:
    moved = written_by_people({"HOLOCRON_DISPATCH": str(tmp_path / "d.yaml")})
    assert moved["dispatch.yaml"] == tmp_path / "d.yaml"
    assert written_by_people({})["dispatch.yaml"] == PROJECT_FOLDER / "data" / "dispatch.yaml"


def test_a_model_is_of_the_first_pool_that_has_a_pattern_of_its_name(tmp_path: Path) -> None:
    read = settings(tmp_path, REMOTE)
    models = ("gpt-oss:120b-cloud", "far/away:1b", "qwen2.5-coder:1.5b")
    assert [read.pool_of(model) for model in models] == ["remote", "remote", "gpu"]
    assert read.limits == {"gpu": 1, "code": 1, "remote": 2}


def test_code_has_a_pool_of_its_own_whatever_patterns_say(tmp_path: Path) -> None:
    read = settings(tmp_path, "pools: {remote: {models: ['*'], limit: 2}}")
    assert [read.pool_of(model) for model in ("sql", "python", "sqlcoder:7b")] == ["code", "code", "remote"]
    found = plan([work("counts", "sql"), work("kinds", "small:1b")], read, frozenset(), NOW)
    assert {(one.pool, one.decision.model) for one in found if one.decision.model} == {
        ("code", "sql"),
        ("remote", "small:1b"),
    }


def test_with_one_for_all_the_most_important_work_goes_first_whatever_answers_it(tmp_path: Path) -> None:
    read = settings(tmp_path, f"policy: global\n{REMOTE}")
    waiting = [work("a", "local", 500), work("b", "big-cloud", 400), work("counts", "sql", 600)]
    (first,) = plan(waiting, read, set(), NOW)
    assert (first.pool, first.decision.model) == ("code", "sql")
    (second,) = plan(waiting[:2], read, set(), NOW)
    assert (second.pool, second.decision.model) == ("gpu", "local")
    assert plan_turns("everything", waiting, read, set(), NOW, at_work={"big-cloud"}) == []
    assert plan([], read, set(), NOW)[0].decision.model is None


def test_with_one_of_each_kind_a_model_that_embeds_does_not_wait_for_one_that_writes(tmp_path: Path) -> None:
    read = settings(tmp_path, f"policy: kind\n{REMOTE}")
    embedding = next(one for one in load_interrogations() if one.is_space).models[0]
    waiting = [
        *(work("a", "local", 500), work("b", "big-cloud", 400)),
        *(work("vectors", embedding, 100), work("counts", "sql", 50)),
    ]
    assert [(one.pool, one.decision.model) for one in plan(waiting, read, set(), NOW)] == [
        ("gpu", "local"),
        ("embedding", embedding),
        ("code", "sql"),
    ]


def test_a_policy_is_a_line_of_the_file_and_needs_no_other(tmp_path: Path) -> None:
    policies = ("global", "kind", "resource")
    limits = {policy: settings(tmp_path, f"policy: {policy}").limits for policy in policies}
    assert limits == {
        "global": {"everything": 1},
        "kind": {"gpu": 1, "embedding": 1, "code": 1},
        "resource": {"gpu": 1, "code": 1},
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("policy: two", "policy: Input should be 'global', 'kind' or 'resource'"),
        ("mode: dry", "mode: Input should be 'live' or 'shadow'"),
        ("ageing: {points_an_hour: -1}", "ageing.points_an_hour: "),
        ("pools: {remote: {models: ['*']}}", "pools.remote.limit: is missing"),
        ("pools: {gpu: {models: ['*'], limit: 2}}", "'gpu' is the pool of all other models"),
        ("pools: {code: {models: ['*'], limit: 2}}", "'code' is the pool of what code answers"),
        ("pools: {Far Away: {models: ['*'], limit: 2}}", "pools.Far Away"),
        ("colour: red", "colour: is no known key; allowed are mode, "),
        ("- live", "the file: Input should be a valid dictionary"),
        ("mode: [", "is not valid YAML"),
    ],
)
def test_a_wrong_file_names_the_key_and_the_reason(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(SettingsError, match=r"dispatch\.yaml: ") as caught:
        settings(tmp_path, text)
    assert problem in str(caught.value)


def test_every_pool_decides_by_itself(tmp_path: Path) -> None:
    waiting = [work("a", "local", 100), work("b", "big-cloud", 900), work("c", "small-cloud", 800)]
    plans = plan(waiting, settings(tmp_path, REMOTE), set(), NOW)
    assert [(one.pool, one.decision.model) for one in plans] == [
        ("gpu", "local"),
        ("code", None),
        ("remote", "big-cloud"),
        ("remote", "small-cloud"),
    ]


def test_a_pool_has_no_more_runs_than_places_and_no_two_of_one_model(tmp_path: Path) -> None:
    read = settings(tmp_path, REMOTE)
    waiting = [work(f"w{number}", f"m{number}-cloud", number) for number in range(5)]
    plans = plan_turns("remote", waiting, read, set(), NOW, at_work={"m4-cloud"})
    assert [one.decision.model for one in plans] == ["m3-cloud"]
    assert plan_turns("remote", waiting, read, set(), NOW, at_work={"m4-cloud", "m3-cloud"}) == []


def test_a_model_at_work_on_the_gpu_leaves_no_place_there(tmp_path: Path) -> None:
    read = settings(tmp_path, "")
    waiting = [work("a", "m1"), work("b", "m2", 900)]
    assert plan_turns("gpu", waiting, read, {"m1"}, NOW, at_work={"m1"}) == []


def test_a_resting_model_takes_no_place_and_is_given_none(tmp_path: Path) -> None:
    waiting = [work("a", "m1"), work("b", "m2", 900)]
    (one,) = plan_turns("gpu", waiting, settings(tmp_path, ""), set(), NOW, resting={"m2"})
    assert one.decision.model == "m1"


def test_a_pool_without_work_says_so_once(tmp_path: Path) -> None:
    plans = plan([], settings(tmp_path, REMOTE), set(), NOW)
    assert [one.decision.reasons for one in plans] == [("Nothing is to be asked.",)] * 3


def test_the_progress_of_a_plan_changes_with_what_is_left_for_its_model_and_with_nothing_else() -> None:
    def progress(items: int, others: int) -> str:
        waiting = [Waiting("a", "m", 500, items, NOW), Waiting("b", "other", 400, others, NOW)]
        return plan(waiting, DispatchSettings(), set(), NOW)[0].progress

    assert progress(10, 5) == progress(10, 4)
    assert progress(10, 5) != progress(9, 5)
