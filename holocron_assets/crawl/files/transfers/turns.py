"""The limits of resolvers, over all hosts that their addresses are of."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

from holocron_assets.crawl.files.transfers.fetching import Turns
from holocron_assets.crawl.politeness.limits import HostLimits
from holocron_assets.crawl.sources.file_source import FileSource, Resolver
from holocron_assets.crawl.sources.settings import Politeness

_ANY_RATE, _ANY_NUMBER = 100.0, 32
"""As much as settings allow: where a resolver names one limit, the other one is no limit."""


@contextmanager
def resolver_turns(source: FileSource, state_folder: Path) -> Iterator[Turns]:
    """Give turns of a source's resolvers, which all processes share. A resolver without limits has no turns.

    A request takes the turn of its resolver first and then that of its host, and waits for nothing once it
    has both. So no request waits for one that waits for it.
    """
    with ExitStack() as opened:
        known = {
            one.label: opened.enter_context(
                HostLimits(f"resolver-{source.name}-{one.label}", _politeness(one), state_folder)
            )
            for one in source.resolvers
            if one.requests_per_second is not None or one.requests_in_flight is not None
        }

        def turn(label: str, patience_seconds: float) -> AbstractContextManager[object]:
            return known[label].turn(patience_seconds) if label in known else nullcontext()

        yield turn


def _politeness(resolver: Resolver) -> Politeness:
    rate = resolver.requests_per_second
    return Politeness(
        requests_per_second=rate or _ANY_RATE,
        burst=1 if rate else int(_ANY_RATE),
        requests_in_flight=resolver.requests_in_flight or _ANY_NUMBER,
    )
