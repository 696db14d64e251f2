"""A reader some of whose pages kill the process. Run as a program, it fetches one batch of a lake."""

import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crawl_rows import outcome

from holocron_assets.crawl.fetch import fetch_batch
from holocron_assets.crawl.waiting import Group
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES


class DeadlyReader:
    """Writes a line for each page it reads; a page whose title begins with 'Poison' kills the process."""

    group_sizes: Sequence[int] = (50, 10, 1)

    def __init__(self, log: Path, journal: Path, groups_at_once: int) -> None:
        self.groups_at_once = groups_at_once
        self._log, self._journal = log, journal

    def reads_others_than(self, _: Group) -> bool:
        return False

    def give_up(self) -> None:
        pass

    def read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
        kept = {
            row["requested_title"]
            for record in Journal(self._journal).records()
            for row in record.get("rows", ())
        }
        titles = [page["title"] for page in group]
        with self._log.open("a") as log:
            log.writelines(f"{'again' if title in kept else 'read'} {title}\n" for title in titles)
        if any(title.startswith("Poison") for title in titles):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.2)  # so that others are still being read when a kill comes
        return [
            outcome(
                page["title"],
                batch=page["batch"],
                position=page["position"],
                fetched_at=utc_now(),
                run_id=run_id,
            )
            for page in group
        ]


if __name__ == "__main__":
    folder, batch, at_once = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    lake = Lake(folder)
    fetch_batch(lake, batch, DeadlyReader(folder / "log", lake.journal(PAGES, batch), at_once), "test")
