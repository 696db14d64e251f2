"""Our crawl beside Scrapy's, which asks the same local wiki for as many titles at once."""

from collections.abc import Mapping
from contextlib import ExitStack

from contenders.report import Report
from crawl_compared_with_scrapy import CONTENDERS, USUAL_IN_FLIGHT, Contender, Wikis, crawl

from side_by_side.row import Row, Scale, compared, in_turns

_OURS, _PEER = "Holocron", "Scrapy, 50 titles a request"
_PAGES: Mapping[Scale, int] = {"quick": 2_000, "full": 10_000}
_TURNS: Mapping[Scale, int] = {"quick": 4, "full": 5}
_LATENCY_SECONDS = 0.05


def measure(scale: Scale) -> list[Row]:
    """The rows of the crawl: of the processor, and of the clock."""
    contenders = {one.name: one for one in CONTENDERS}
    (in_flight,) = USUAL_IN_FLIGHT
    with ExitStack() as stack:
        address = Wikis(stack, _LATENCY_SECONDS).address(_PAGES[scale])

        def report(contender: Contender) -> Report:
            done = crawl(contender, in_flight, address).report
            if done.pages < _PAGES[scale]:
                raise RuntimeError(f"{contender.name} stored {done.pages} of {_PAGES[scale]} pages")
            return done

        turns = in_turns(
            lambda _: report(contenders[_OURS]), lambda _: report(contenders[_PEER]), _TURNS[scale]
        )
    cpu = [(_cpu_ms(ours), _cpu_ms(peer)) for ours, peer in turns]
    rates = [(_rate(ours), _rate(peer)) for ours, peer in turns]
    return [
        compared("crawl", "CPU ms a page", _PEER, cpu),
        compared("crawl's rate", "pages/s", _PEER, rates, is_rate=True),
    ]


def _cpu_ms(report: Report) -> float:
    return report.cpu_seconds / report.pages * 1000


def _rate(report: Report) -> float:
    return report.pages / report.seconds
