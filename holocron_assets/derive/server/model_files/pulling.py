"""Fetches a model for a client that watches over HTTP."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from holocron_assets.derive.server.errors import ModelFileError
from holocron_assets.derive.server.model_files.catalog import Model
from holocron_assets.derive.server.model_files.files import ModelFiles


async def pulled(files: ModelFiles, model: Model) -> AsyncGenerator[dict[str, Any], None]:
    """Fetch a model's file and report progress; the last report says "success", or has an `error`."""
    yield {"status": "pulling manifest"}
    reports: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def report(doing: str, done: int, total: int) -> None:
        status = {"status": doing, "digest": f"sha256:{model.sha256}", "total": total, "completed": done}
        loop.call_soon_threadsafe(reports.put_nowait, status)

    # In a thread of its own, which goes on without a client: the file is kept.
    fetching = asyncio.ensure_future(asyncio.to_thread(files.fetch, model, report))
    fetching.add_done_callback(lambda _: reports.put_nowait(None))
    while status := await reports.get():
        yield status
    error = fetching.exception()
    if isinstance(error, ModelFileError | OSError):
        yield {"error": str(error)}
        return
    fetching.result()
    for status_text in ("verifying sha256 digest", "success"):
        yield {"status": status_text}
