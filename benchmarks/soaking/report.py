"""A soak from its beginning to its verdict: what was measured in tables, and whether all of it held."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from holocron_assets.settings import run_retention
from soaking.life import Life
from soaking.measures import Measure, bytes_a_run, measures_of, runs_a_day, tick_points
from soaking.plot import plot
from soaking.samples import Tick, runs_by_status, ticks
from soaking.settling import Settled, UnsettledError, answered_twice, settle
from soaking.world import world

_BATCH_SIZE = 10
_SECONDS_BETWEEN_CHANGES = 6.0
_DAYS_KEPT = run_retention().succeeded.days


def report(folder: Path, *, seed: int, seconds: float, pages: int) -> int:
    """Soak, and print and keep what came of it.

    Args:
        folder: keeps everything.
        seed: of all chance.
        seconds: to live before all comes to rest.
        pages: of the wiki at first.

    Returns:
        0 if everything held, else 1.
    """
    console = Console(width=150, record=True)

    def print_line(line: str) -> None:
        console.print(line, markup=False, highlight=False)

    settled: Settled | None = None
    with world(folder, seed, pages=pages, batch_size=_BATCH_SIZE) as it:
        life = Life(it, seed, seconds, folder, _SECONDS_BETWEEN_CHANGES)
        try:
            life.live(print_line)
            settled = settle(it, folder, print_line, life.take_sample)
        except KeyboardInterrupt:
            print_line("interrupted: what follows is of a part")
        except UnsettledError as error:
            life.troubles.append(str(error))
        found = ticks(it, life.began_at)
        measures = measures_of(life, found)
        console.print(_faults_table(life), _growth_table(measures))
        problems = list(_problems(life, settled, measures))
        for line in [*_facts(life, settled, found), *problems, "FAILED" if problems else "held"]:
            print_line(line)
        plot(life, found, folder / "soak.png")
    (folder / "report.txt").write_text(console.export_text(), encoding="utf-8")
    return 1 if problems else 0


def _faults_table(life: Life) -> Table:
    table = Table("at", "fault", "hit", "calls in flight", title="What went wrong on purpose")
    for fault in life.faults:
        table.add_row(f"{fault.at:.0f} s", fault.name, fault.hit, str(fault.in_flight))
    return table


def _growth_table(measures: Sequence[Measure]) -> Table:
    table = Table(
        "measure",
        "samples",
        "first quarter",
        "last quarter",
        "a month, at this rate",
        "",
        title="What grew; of processes, that of the last one in its last life, once it was warm",
    )
    for measure in measures:
        growth = measure.growth
        if growth is None:
            table.add_row(measure.name, str(len(measure.points)), "", "", "", "too few")
            continue
        table.add_row(
            measure.name,
            str(len(measure.points)),
            f"{growth.first:,.1f}",
            f"{growth.last:,.1f}",
            f"{growth.a_month:+,.0f} ± {growth.uncertainty:,.0f}",
            "shown" if measure.most is None else "bounded" if measure.is_bounded else "GROWS",
        )
    return table


def _facts(life: Life, settled: Settled | None, found: Sequence[Tick]) -> Iterator[str]:
    """What happened, in lines."""
    world, samples = life.world, life.samples
    yield (
        f"seed {life.seed}: {life.now() / 60:.0f} minutes, {len(life.faults)} faults, {len(world.wiki.log)} "
        f"changes of the wiki, {life.decided} decisions, {life.opened} visits of the web UI, "
        f"`holocron ui` started {world.starts} times"
    )
    yield f"runs: {dict(runs_by_status(world))}"
    for sensor, points in tick_points(found).items():
        failed = sum(tick.status == "FAILURE" for tick in found if tick.sensor == sensor)
        yield f"ticks of {sensor}: {len(points)}, failed {failed}"
    kept, a_day = bytes_a_run(samples), runs_a_day(samples)
    gibibytes = kept * a_day * _DAYS_KEPT / 2**30
    yield f"Dagster keeps {kept / 1024:,.0f} KiB a run; {a_day:,.0f} runs a day, as here, and kept for"
    yield f"{_DAYS_KEPT} days, as is configured, come to {gibibytes:,.1f} GiB, and stay there"
    yield f"calls of the model: {len(world.ollama.chats)}; questions: {len(world.answered)}"
    if settled:
        yield f"answered twice: {settled.twice}; in flight at faults: {_in_flight(life)}"
        yield f"all was quiet after {settled.seconds:.0f} s; as in a Holocron that starts from nothing:"
        yield f"  {', '.join(settled.same)}"
        for table, entities in settled.renamed.items():
            yield f"  {table}, but for the ids of {entities} entities of moved pages, which keep theirs"


def _problems(life: Life, settled: Settled | None, measures: Sequence[Measure]) -> Iterator[str]:
    """What did not hold, in lines."""
    yield from (f"grows: {measure.name}" for measure in measures if not measure.is_bounded)
    yield from life.troubles
    twice = settled.twice if settled else answered_twice(life.world)
    if twice > _in_flight(life):
        yield f"{twice} answers were given twice; {_in_flight(life)} calls were in flight at faults"
    if settled is None:
        yield "nothing was compared"
        return
    if not settled.is_idle:
        yield "it did not come to rest"
    if settled.behind:
        yield f"{settled.behind} pages are not as they are in the wiki"
    if settled.left:
        yield f"{settled.left} calls of the model were left to do when all was quiet"
    yield from (f"not as in a Holocron that starts from nothing: {table}" for table in settled.differing)
    moves = sum(change.kind == "move" for change in life.world.wiki.log)
    if any(entities > moves for entities in settled.renamed.values()):
        yield f"ids differ of more entities than the {moves} pages that were moved"


def _in_flight(life: Life) -> int:
    """Calls of the model that faults may have lost."""
    return sum(fault.in_flight for fault in life.faults)
