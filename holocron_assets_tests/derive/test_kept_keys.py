"""The keys of answers that stay in memory are bounded."""

import pytest

from holocron_assets.derive.results import journaled_answers, kept_answers
from holocron_assets.derive.results.kept_keys import KeptKeys


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


def test_keys_used_longest_ago_are_forgotten_when_there_are_too_many() -> None:
    files, memory = Files(a=3, b=2, c=2, large=6), KeptKeys(most=5)
    for name in ("a", "b", "a", "c"):
        files.keys_of(memory, name)
    files.read.clear()
    for name in ("a", "c"):
        files.keys_of(memory, name)
    assert files.read == []
    assert len(files.keys_of(memory, "large")) == 6
    files.keys_of(memory, "b")
    files.keys_of(memory, "large")
    assert files.read == ["large", "b", "large"]


def test_files_without_keys_are_bounded_too() -> None:
    files, memory = Files(a=0, b=0, c=0), KeptKeys(most=2)
    for name in ("a", "b", "c", "a"):
        files.keys_of(memory, name)
    assert files.read == ["a", "b", "c", "a"]


@pytest.mark.parametrize("module", [kept_answers, journaled_answers])
def test_keys_of_answers_stay_in_bounded_memories(module: object) -> None:
    assert isinstance(vars(module)["_KEYS"], KeptKeys)
