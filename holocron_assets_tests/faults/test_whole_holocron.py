"""What the other tests of this folder compare with: an undisturbed run repeats itself."""

from pathlib import Path

import pytest
from whole_holocron import whole_holocron

from holocron_assets.lake.tables import ENTITIES, PAGES

pytestmark = pytest.mark.full


def test_two_undisturbed_runs_give_the_same_hash_and_the_second_pass_does_nothing(tmp_path: Path) -> None:
    hashes = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        with whole_holocron(folder, pages=4, interrogations=("page_classification",)) as whole:
            whole.finish()
            hashes.append(whole.hashes())
            assert len(whole.rows(PAGES)) > 4
            assert whole.rows(ENTITIES)
            asked = len(whole.ollama.chats)
            whole.finish()
            assert len(whole.ollama.chats) == asked
            assert whole.hashes() == hashes[-1]
    assert hashes[0] == hashes[1]
