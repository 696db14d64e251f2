"""Works on a partition in a process of its own, three calls at a time, until it is killed or done."""

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

from asked import DIGEST, interrogation
from fake_ollama import SMALL
from wiki_lake import BATCH

from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.items.items import Item
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.lake.place.paths import Lake

AT_ONCE = 3


async def main(data: str, url: str) -> None:
    work = PartitionWork(Lake(Path(data)), interrogation(rows={}), BATCH, model=SMALL, digest=DIGEST)
    places = asyncio.Semaphore(AT_ONCE)
    async with open_client(url) as client:
        engine = Engine(client, run_id="killed")

        async def ask(item: Item) -> None:
            async with places:
                attempt = work.start(item)
                work.record(item, await engine.answer(item, model=SMALL, digest=DIGEST, attempt=attempt))

        await asyncio.gather(*map(ask, work.ready(datetime.now(UTC))))
    work.publish("killed")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
