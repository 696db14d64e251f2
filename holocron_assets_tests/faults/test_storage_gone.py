"""The data folder, or a part of it, vanishes below a running Holocron, as a disk does that was unmounted."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from whole_holocron import WholeHolocron, until, whole_holocron

from holocron_assets.lake.tables import PAGES

pytestmark = pytest.mark.full

PARTS = ["data", "data/lake", "data/locks", "dagster"]


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[WholeHolocron]:
    with whole_holocron(tmp_path, pages=2) as made:
        yield made


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with whole_holocron(tmp_path_factory.mktemp("undisturbed"), pages=2) as made:
        made.finish()
        return made.hashes()


def vanish_at_the_first_page(whole: WholeHolocron, part: str) -> Path:
    """Have a part vanish when the wiki is first asked for a page; gives the place where it is then."""
    folder, aside, answer = whole.holocron.folder, whole.holocron.folder / "aside", whole.wiki.answer

    def answer_and_vanish(asked: Mapping[str, str]) -> dict[str, Any]:
        if "titles" in asked:
            whole.wiki.answer = answer  # once: it stays when it is put back
            (folder / part).rename(aside)
        return answer(asked)

    whole.wiki.answer = answer_and_vanish
    return aside


def put_back(whole: WholeHolocron, aside: Path, part: str) -> None:
    place = whole.holocron.folder / part
    if place.exists():
        place.rename(whole.holocron.folder / "begun-anew")
    aside.rename(place)


@pytest.mark.fault(7, "data/, lake/, locks/ or dagster/ gone in the middle of `holocron run`, and put back")
@pytest.mark.parametrize("part", PARTS)
def test_a_run_below_which_a_folder_vanishes_stops_by_name_and_is_taken_up_when_it_is_back(
    whole: WholeHolocron, undisturbed: dict[str, Any], part: str
) -> None:
    aside = vanish_at_the_first_page(whole, part)
    done = whole.command("run")
    said = done.stdout + done.stderr
    assert aside.exists(), said
    assert done.returncode, said
    assert str(whole.holocron.folder / part) in said, said
    made = [
        path for path in (whole.holocron.folder / part).rglob("*") if path.suffix in {".parquet", ".lock"}
    ]
    assert made == [], "half a lake was begun next to the one that is gone"
    put_back(whole, aside, part)
    whole.finish()
    assert whole.hashes() == undisturbed
    titles = sorted(row["title"] for row in whole.rows(PAGES) if row["source"] == "tiny")
    assert len(titles) == len(set(titles))


@pytest.mark.fault(7, "lake/ gone below the daemon, and put back")
def test_a_daemon_below_which_the_lake_vanishes_begins_no_other_and_goes_on_when_it_is_back(
    whole: WholeHolocron, undisturbed: dict[str, Any]
) -> None:
    aside = vanish_at_the_first_page(whole, "data/lake")
    whole.start_daemon()
    until(aside.exists, "the first page is asked for", seconds=300)
    refusal = f"{whole.lake.root / 'lake'} is gone"
    until(lambda: refusal in whole.log.read_text(encoding="utf-8"), "the lake is missed", seconds=300)
    assert not (whole.lake.root / "lake").exists()
    put_back(whole, aside, "data/lake")
    until(
        lambda: [row for row in whole.rows(PAGES) if row["source"] == "tiny"],
        "the pages are fetched",
        seconds=400,
    )
    until(lambda: not whole.is_busy(), "its runs end", seconds=300)
    whole.end()
    whole.finish()
    assert whole.hashes() == undisturbed


UNMOUNTED = """
set -e
mount -t tmpfs disk "$1"
holocron home > /dev/null && touch "$1/data/there"
umount "$1"
for command in "run" "export --to $1/export --format jsonl" "status"; do
    if holocron $command; then echo "WENT ON: $command"; fi
done
ls -A "$1" | sed 's/^/MADE: /'
mkdir -p "$1/data/lake"
holocron status > /dev/null && echo "BEGAN ANEW"
"""


@pytest.mark.fault(7, "the disk of data/ not mounted at the next start")
def test_a_data_folder_whose_disk_is_not_mounted_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["unshare", "-m", "true"], check=False).returncode:  # noqa: S607 - of the system
        pytest.skip("mounting a disk of its own takes root")
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOLOCRON_DATA": str(disk / "data"),
        "HOLOCRON_STATE": str(tmp_path / "state"),
        "HOLOCRON_LLM": "off",
    }
    done = subprocess.run(  # noqa: S603 - our own script
        ["unshare", "-m", "bash", "-c", UNMOUNTED, "unmounted", str(disk)],  # noqa: S607 - of the system
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.stderr.count(f"was on a disk mounted at {disk}, which is not mounted now") == 3, done.stderr
    assert done.stdout.splitlines() == ["BEGAN ANEW"], done.stdout + done.stderr
