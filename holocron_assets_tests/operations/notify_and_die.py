"""Notes a run's end, and is killed: after noting it, or after it was sent and before that is noted.

python notify_and_die.py DATA WEBHOOKS noted|sent
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.notifications.delivering import deliver
from holocron_assets.operations.notifications.notifications import Notice, NoticeBook, open_book
from holocron_assets.operations.notifications.webhooks import read_webhooks


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    data, file, moment = sys.argv[1:]
    webhooks = read_webhooks(Path(file))
    with open_book(Lake(Path(data)), patience_seconds=0) as book:
        book.note([Notice("run-1", "run.failure", "a run", utc_now(), {"run_id": "run-1"})], webhooks)
        if moment == "noted":
            die()
        NoticeBook.change = die  # type: ignore[method-assign]
        deliver(book, webhooks)


main()
