"""What log lines and spans cost where nobody wants them: the usual case, without a collector, lines as text.

    python benchmarks/observing.py [--rounds N]

A partition of 500 rows is written as ever, and with its line and span taken out of the code, in turns:
medians of CPU time and their ratio. Then what one request or call has of them, alone: ids, a span, a line.
"""

import argparse
import random
import tempfile
from contextlib import nullcontext
from pathlib import Path
from statistics import median, quantiles
from time import process_time
from unittest.mock import Mock, patch

from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files import parquet
from holocron_assets.lake.files.parquet import write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import SEED_TITLES
from holocron_assets.telemetry.context import about
from holocron_assets.telemetry.logs import configure_logs, logger
from holocron_assets.telemetry.spans import span

ROWS = 500
REQUESTS = 20_000
DRAWS = 2_000
COLD_ROUNDS = 20
LOG = logger("holocron_assets.benchmark")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=300, help="partitions written each way")
    rounds = parser.parse_args().rounds
    configure_logs({})
    with tempfile.TemporaryDirectory() as folder:
        with_them, without = written(Lake(Path(folder)), rounds)
    ratios = drawn_ratios(with_them, without)
    low, high = quantiles(ratios, n=40)[0], quantiles(ratios, n=40)[-1]
    print("| what | CPU |\n| --- | ---: |")
    print(f"| a partition of {ROWS} rows, with line and span | {median(with_them) * 1e3:.3f} ms |")
    print(f"| the same without | {median(without) * 1e3:.3f} ms |")
    print(f"| ratio (95% of {DRAWS:,} draws) | {median(ratios):.4f} ({low:.4f} to {high:.4f}) |")
    print(f"| ids, span and line of one request | {observed_request() * 1e6:.1f} us |")


def written(lake: Lake, rounds: int) -> tuple[list[float], list[float]]:
    """CPU seconds of writing, with lines and spans and without, in turns."""
    rows = [row(number) for number in range(ROWS)]
    quiet = Mock(spec_set=("info",), info=nothing)
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(2 * rounds + COLD_ROUNDS):
        is_without = number % 2
        with (
            patch.object(parquet, "span", no_span if is_without else span),
            patch.object(parquet, "_LOG", quiet if is_without else parquet._LOG),  # noqa: SLF001
        ):
            started = process_time()
            write_partition(lake, SEED_TITLES, "bench", rows)
            taken = process_time() - started
        if number >= COLD_ROUNDS:
            times[is_without].append(taken)
    return times


def no_span(*_: object, **__: object) -> nullcontext[None]:
    """Span nothing."""
    return nullcontext()


def nothing(*_: object, **__: object) -> None:
    """Report nothing."""


def row(number: int) -> Row:
    title = f"Page {number}"
    return {
        "source": "bench",
        "title": title,
        "title_key": title_key("bench", title),
        "namespace": 0,
        "origin": "title",
        "listed_at": utc_now(),
    }


def drawn_ratios(first: list[float], second: list[float]) -> list[float]:
    """Ratios of the medians, of draws with replacement."""
    chance = random.Random(1)  # noqa: S311 - draws, no secrets
    return [
        median(chance.choices(first, k=len(first))) / median(chance.choices(second, k=len(second)))
        for _ in range(DRAWS)
    ]


def observed_request() -> float:
    """CPU seconds of what one request has of lines and spans."""
    started = process_time()
    for number in range(REQUESTS):
        with about(request_id="0123456789abcdef"), span("GET", "client", {"http.request.method": "GET"}):
            pass
        LOG.info("asked a wiki", source="bench", status=200, attempt=number)
    return (process_time() - started) / REQUESTS


if __name__ == "__main__":
    main()
