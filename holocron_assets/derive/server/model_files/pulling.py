"""Fetching a model for someone who watches over HTTP."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from holocron_assets.derive.server.errors import ModelFileError
from holocron_assets.derive.server.model_files.catalog import Model
from holocron_assets.derive.server.model_files.files import ModelFiles


async def pulled(files: ModelFiles, model: Model) -> AsyncGenerator[dict[str, Any], None]:
    """Fetch a model's file and tell how far it is; the last says "success", or has an `error`."""
    yield {"status": "pulling manifest"}
    told: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def report(doing: str, done: int, total: int) -> None:
        status = {"status": doing, "digest": f"sha256:{model.sha256}", "total": total, "completed": done}
        loop.call_soon_threadsafe(told.put_nowait, status)

    # In a thread of its own, which goes on if nobody watches any more: what it fetches is kept.
    fetching = asyncio.ensure_future(asyncio.to_thread(files.fetch, model, report))
    fetching.add_done_callback(lambda _: told.put_nowait(None))
    while status := await told.get():
        yield status
    error = fetching.exception()
    if isinstance(error, ModelFileError | OSError):
        yield {"error": str(error)}
        return
    fetching.result()
    for status_text in ("verifying sha256 digest", "success"):
        yield {"status": status_text}
