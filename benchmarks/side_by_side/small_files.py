"""Our reader of files beside Scrapy's FilesPipeline: small files of one local server."""

from collections.abc import Mapping

from contenders.report import Report
from file_transfer import CONTENDERS, Contender, fetch, serving
from local_files.server import SMALL_PATH

from side_by_side.row import Row, Scale, compared, in_turns

_OURS, _PEER = "Holocron, FileReader", "Scrapy, FilesPipeline"
_FILES: Mapping[Scale, int] = {"quick": 500, "full": 2_000}
_TURNS: Mapping[Scale, int] = {"quick": 4, "full": 5}
_IN_FLIGHT = 8
_LARGE_BYTES = 2**20
"""Of the server's large file, which nobody asks for here."""


def measure(scale: Scale) -> list[Row]:
    """The row of files."""
    contenders = {one.name: one for one in CONTENDERS}
    with serving(_LARGE_BYTES) as address:
        urls = [f"{address}{SMALL_PATH}{number}" for number in range(_FILES[scale])]

        def cpu_ms(contender: Contender) -> float:
            report: Report = fetch(contender, urls, _IN_FLIGHT).report
            return report.cpu_seconds / len(urls) * 1000

        turns = in_turns(
            lambda _: cpu_ms(contenders[_OURS]), lambda _: cpu_ms(contenders[_PEER]), _TURNS[scale]
        )
    return [compared("small files", "CPU ms a file", _PEER, turns)]
