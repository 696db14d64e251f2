"""The models that a running model server lists, and those that it has loaded."""

import asyncio

from holocron_assets.derive.engine.bounded_client import open_client
from holocron_assets.derive.engine.listening import digests_by_name
from holocron_assets.derive.engine.problems import ModelServerUnavailable, failure_of_call
from holocron_assets.lake.attempts import delay_after
from holocron_assets.lake.place.clock import utc_now

_SECONDS = 3.0
"""Even a busy server lists its models in this time."""


def models_at(address: str) -> tuple[dict[str, str], set[str]]:
    """Digests of the server's models, and the names of those loaded; with and without the tag 'latest'.

    Raises:
        ModelServerUnavailable: the server gives no answer.
    """
    try:
        return asyncio.run(_listing(address))
    except Exception as error:  # the client passes on the errors of its transport
        reason = failure_of_call(error, model="the server", timeout_seconds=_SECONDS).reason
        raise ModelServerUnavailable(reason, utc_now() + delay_after(1)) from error


async def _listing(address: str) -> tuple[dict[str, str], set[str]]:
    async with asyncio.timeout(_SECONDS), open_client(address) as client:
        had = digests_by_name((await client.list()).models)
        running = {one.model for one in (await client.ps()).models if one.model}
    return had, running | {name.removesuffix(":latest") for name in running}
