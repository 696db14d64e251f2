"""The keys of answers that stay in memory are bounded."""

from pathlib import Path

import pytest

from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.results import answers_elsewhere, kept_answers
from holocron_assets.derive.results.kept_keys import KeptKeys
from holocron_assets.lake.place.paths import Lake


class Files:
    """Files of keys, and which of them were read."""

    def __init__(self, **sizes: int) -> None:
        self.sizes, self.read = sizes, list[str]()

    def keys_of(self, memory: KeptKeys, name: str, state: object = 1) -> frozenset[str]:
        def read() -> frozenset[str]:
            self.read.append(name)
            return frozenset(f"{name} {number}" for number in range(self.sizes[name]))

        return memory.of(name, state, read)


def test_a_file_is_read_again_only_when_it_changed() -> None:
    files, memory = Files(a=2), KeptKeys(most=10)
    assert files.keys_of(memory, "a") == files.keys_of(memory, "a") == {"a 0", "a 1"}
    assert files.read == ["a"]
    files.sizes["a"] = 1
    assert files.keys_of(memory, "a", state=2) == {"a 0"}
    assert files.read == ["a", "a"]


def test_of_too_many_keys_some_stay_though_all_are_asked_for_in_turn() -> None:
    names = [f"file {number}" for number in range(20)]
    files, memory = Files(**dict.fromkeys(names, 3)), KeptKeys(most=30)
    for name in names * 10:
        assert len(files.keys_of(memory, name)) == 3
    assert 100 < len(files.read) < 190, "not each is read each time"


def test_a_file_with_more_keys_than_may_stay_is_read_each_time() -> None:
    files, memory = Files(large=6), KeptKeys(most=5)
    assert len(files.keys_of(memory, "large")) == len(files.keys_of(memory, "large")) == 6
    assert files.read == ["large", "large"]


def test_files_without_keys_are_bounded_too() -> None:
    files, memory = Files(a=0, b=0, c=0), KeptKeys(most=2)
    for name in ("a", "b", "c") * 10:
        files.keys_of(memory, name)
    assert len(files.read) > 3


@pytest.mark.parametrize("module", [kept_answers, answers_elsewhere])
def test_keys_of_answers_stay_in_bounded_memories(module: object) -> None:
    assert isinstance(vars(module)["_KEYS"], KeptKeys)


def test_no_file_is_looked_for_where_every_question_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers_elsewhere, "answered_scopes", None)
    assert answers_elsewhere.answers_elsewhere(Lake(tmp_path), load_interrogations()[0], set()) == {}
