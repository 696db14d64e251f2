"""How often rules, a model, and rules then a model type real pages right, with the infobox removed.

Run: python benchmarks/model_accuracy.py [--pages 200] [--models NAME ...] [--work FOLDER] [--calibrate]

Needs ../shared/wookieepedia and a model server (OLLAMA_HOST, else the embedded one). Pages are those of
type_accuracy.py, truth too. The 200 are drawn from the held-out half, which nobody read when rules and
prompts were written, by a fixed seed and evenly over types, as most pages are of characters. `--calibrate`
asks about the unsure pages of the tune half instead: the source of classify/model_weighing.yaml.

It asks through the derive room's own code. What was answered stays in the work folder: the measurement can be
stopped and run again, and asks nothing again after a change of rules or weighing.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import xxhash
from type_accuracy import SCORING_FILE, SHARED, SITE, SOURCE, Case, page_row, percent, without_infobox

from holocron_assets.classify.merge import page_type_row
from holocron_assets.classify.model_weighing import load_model_weighing, weigh_answer
from holocron_assets.classify.rules import classify_page, load_rules
from holocron_assets.derive.engine.call_times import calls_at_once
from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.interrogations.settings import Wants
from holocron_assets.derive.items.derived_rows import derived_rows
from holocron_assets.derive.results.partition_work import PartitionWork
from holocron_assets.derive.server.process.connection import model_server
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS, PAGE_SIGNALS, PAGES, RULE_CLASSIFICATIONS, SITES
from holocron_assets.signals.extract import signal_row

SEED = 20
MODELS = ("qwen2.5-coder:0.5b", "qwen2.5-coder:1.5b")
EMPTY_TIME = datetime(2026, 1, 1, tzinfo=UTC)


class Page(NamedTuple):
    """A page with what the rules say, and the types that are right."""

    case: Case
    signals: Row
    rules: Row
    truth: Sequence[str]

    @property
    def settled(self) -> bool:
        return bool(self.rules["confidence"] >= load_rules().weighing.settled)


class Answered(NamedTuple):
    """What answers came to: type, whether it settles the page, and how sure it is."""

    page: Page
    type: str
    settled: bool
    confidence: float

    @property
    def right(self) -> bool:
        return self.type in self.page.truth


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=200, help="pages of the held-out half")
    parser.add_argument("--models", nargs="+", default=MODELS, help="models, as the server calls them")
    parser.add_argument("--work", type=Path, help="folder that keeps the answers; a new one by default")
    parser.add_argument("--most", type=int, metavar="N", help="ask about N pages more, those unsure first")
    parser.add_argument("--calibrate", action="store_true", help="measure on the tune half's unsure pages")
    parser.add_argument("--errors", action="store_true", help="show every wrong answer")
    arguments = parser.parse_args()
    if not (SHARED / "wookieepedia").is_dir():
        sys.exit(f"{SHARED / 'wookieepedia'} is missing; this measurement needs it")
    pages = all_pages()
    chosen = (
        [page for page in pages if is_tune(page) and not page.settled]
        if arguments.calibrate
        else stratified([page for page in pages if not is_tune(page)], arguments.pages)
    )
    lake = Lake(arguments.work or Path(tempfile.mkdtemp(prefix="holocron-accuracy-")))
    batch = write_batch(lake, chosen)
    settled = sum(page.settled for page in chosen)
    print(f"{len(chosen)} pages, {settled} settled by rules; answers in {lake.root}")
    print(f"true types: {dict(Counter(page.truth[0] for page in chosen).most_common())}")
    report("rules alone", [by_rules(page) for page in chosen], show=arguments.errors)
    for model in arguments.models:
        rows = asyncio.run(asked(lake, batch, model, arguments.most, of_all_pages("page_classification")))
        answers = {row["title"]: row for row in rows}
        print(f"\n{model}: {len(answers)} of {len(chosen)} answered")
        costs(lake, model, batch)
        by_model = [alone(page, answers[page.case.title]) for page in chosen if page.case.title in answers]
        report(f"{model} alone", by_model, show=arguments.errors)
        report(
            f"rules then {model}",
            [merged(page, answers.get(page.case.title)) for page in chosen],
            show=arguments.errors,
        )
        standings(chosen, answers)


def all_pages() -> list[Page]:
    """Every page with prose, in a fixed order."""
    scoring: dict[str, Any] = load_yaml(SCORING_FILE.read_text(encoding="utf-8"))
    found = []
    for case in without_infobox():
        signals = signal_row(page_row(case), SITE)
        found.append(Page(case, signals, classify_page(signals), scoring[case.template]["types"]))
    return sorted(found, key=lambda page: content_hash(page.case.title))


def is_tune(page: Page) -> bool:
    """Whether rules and prompts may be changed after reading it; the halves are type_accuracy's."""
    return xxhash.xxh64_intdigest(page.case.title.encode()) % 2 == 0


def stratified(pages: Sequence[Page], count: int) -> list[Page]:
    """As many pages of each true type as of any other, as far as there are any."""
    by_type = defaultdict(list)
    for page in pages:
        by_type[page.truth[0]].append(page)
    chooser = random.Random(SEED)  # noqa: S311 - a sample, not a secret
    for group in by_type.values():
        chooser.shuffle(group)
    chosen: list[Page] = []
    while len(chosen) < count and any(by_type.values()):
        for name in sorted(by_type):
            if by_type[name] and len(chosen) < count:
                chosen.append(by_type[name].pop())
    return sorted(chosen, key=lambda page: page.settled)  # what matters most is asked first


def write_batch(lake: Lake, pages: Sequence[Page]) -> str:
    """Write the pages as a batch whose name has the hash of its content; give the name."""
    number = int(content_hash("\n".join(page.case.title for page in pages))[:6], 16)
    batch = f"{SOURCE}-{number:08}"
    site = {"source": SOURCE, "site_name": SOURCE, "title_case": "first-letter", "fetched_at": EMPTY_TIME}
    site |= {"namespaces": [], "interwiki_prefixes": ["wikipedia"]}
    write_partition(lake, SITES, SOURCE, [site])
    fetched = {"status": "ok", "attempts": 1, "fetched_at": EMPTY_TIME, "depth": 0, "run_id": "benchmark"}
    crawled = [
        {
            **page_row(page.case),
            **fetched,
            "batch": batch,
            "position": position,
            "requested_title": page.case.title,
            "requested_key": page.signals["title_key"],
        }
        for position, page in enumerate(pages)
    ]
    write_partition(lake, PAGES, batch, crawled)
    write_partition(lake, PAGE_SIGNALS, batch, [{**page.signals, "batch": batch} for page in pages])
    write_partition(lake, RULE_CLASSIFICATIONS, batch, [{**page.rules, "batch": batch} for page in pages])
    return batch


def of_all_pages(key: str) -> Interrogation:
    """A shipped one, but of all pages: what the rules settle shows what the model is worth alone."""
    [shipped] = [one for one in load_interrogations() if one.key == key]
    return shipped.model_copy(update={"wants": Wants(of="rule_classifications")})


async def asked(
    lake: Lake, batch: str, model: str, most: int | None, asking: Interrogation
) -> list[dict[str, Any]]:
    """The model's rows about a batch; what it said before it is not asked again."""
    with model_server() as url:
        if url is None:
            sys.exit("no model server may be used: HOLOCRON_LLM is off")
        async with open_client(url) as client:
            engine = Engine(client, run_id="benchmark")
            chosen = await engine.digest([model])
            work = PartitionWork(lake, asking, batch, model=chosen.name, digest=chosen.digest)
            await ask_all(engine, work, chosen.name, chosen.digest, most)
            work.publish("benchmark")
    answers = ((item, work.answer_of(item)) for item in work.items)
    return [
        row
        for item, answer in answers
        if answer is not None
        for row in derived_rows(item, answer, model=chosen.name, digest=chosen.digest, run_id="benchmark")
    ]


async def ask_all(engine: Engine, work: PartitionWork, model: str, digest: str, most: int | None) -> None:
    turns = asyncio.Semaphore(calls_at_once())
    waiting = work.ready(utc_now())[:most]
    started, done = time.monotonic(), 0

    async def ask(item: Any) -> None:
        nonlocal done
        async with turns:
            attempt = work.start(item)
            try:
                outcome = await engine.answer(item, model=model, digest=digest, attempt=attempt)
            except asyncio.CancelledError:
                work.abandon(item)
                raise
            work.record(item, outcome)
        done += 1
        if outcome.problem:
            raise outcome.problem
        if done % 20 == 0:
            print(f"  {done} of {len(waiting)} after {time.monotonic() - started:.0f} s", flush=True)

    async with asyncio.TaskGroup() as tasks:
        for item in waiting:
            tasks.create_task(ask(item))


def by_rules(page: Page) -> Answered:
    sure = page.settled and not page.rules["needs_review"]
    return Answered(page, page.rules["primary_type"], sure, page.rules["confidence"])


def alone(page: Page, row: Row) -> Answered:
    """A model's answer as if there were no rules; it settles what it says that it is sure of."""
    sure = row["confidence"] >= load_rules().weighing.settled and not row["needs_review"]
    return Answered(page, row["primary_type"], sure, row["confidence"])


def merged(page: Page, row: Row | None) -> Answered:
    """What table page_types would say; where the rules are sure, no model would have been asked."""
    answer = page_type_row(page.signals, page.rules, "benchmark", model=None if page.settled else row)
    sure = answer["confidence"] >= load_rules().weighing.settled and not answer["needs_review"]
    return Answered(page, answer["primary_type"], sure, answer["confidence"])


def report(name: str, answered: Sequence[Answered], *, show: bool) -> None:
    print(f"\n== {name}")
    print(f"{'':24}{'pages':>7}{'right':>9}{'settled':>9}{'right of settled':>18}{'for review':>12}")
    for label, keep in PARTS.items():
        summary(label, [one for one in answered if keep(one)])
    calibration(answered)
    confusion(answered)
    for one in answered if show else ():
        if not one.right:
            print(f"  {one.page.case.template} | {one.page.case.title} -> {one.type} ({one.confidence:.2f})")


PARTS: dict[str, Callable[[Answered], bool]] = {
    "all": lambda _: True,
    "not Character": lambda one: one.page.case.template != "Character",
    "rules are unsure": lambda one: not one.page.settled,
}


def summary(label: str, answered: Sequence[Answered]) -> None:
    settled = [one for one in answered if one.settled]
    cells = [
        percent(sum(one.right for one in answered), len(answered)),
        percent(len(settled), len(answered)),
        percent(sum(one.right for one in settled), len(settled)),
        percent(len(answered) - len(settled), len(answered)),
    ]
    print(f"{label:24}{len(answered):7}{cells[0]:>9}{cells[1]:>9}{cells[2]:>18}{cells[3]:>12}")


def calibration(answered: Sequence[Answered]) -> None:
    """How often answers of each confidence are right."""
    bins = defaultdict(list)
    for one in answered:
        bins[min(int(one.confidence * 10), 9)].append(one.right)
    print(
        "confidence: "
        + "  ".join(f"{low / 10:.1f}+ {sum(right)}/{len(right)}" for low, right in sorted(bins.items()))
    )


def confusion(answered: Iterable[Answered]) -> None:
    """Rows: the type a reader gives, or that of the answer where it is right. Columns: the answer."""
    counts = Counter((one.type if one.right else one.page.truth[0], one.type) for one in answered)
    types = sorted({name for pair in counts for name in pair})
    print("confusion (down: true, across: answered)")
    print(" " * 18 + "".join(f"{name[:8]:>9}" for name in types))
    for true in types:
        cells = "".join(f"{counts[true, answer] or '.':>9}" for answer in types)
        print(f"  {true:16}{cells}")


def standings(pages: Sequence[Page], answers: Mapping[str, Row]) -> None:
    """How often an answer is right, by how it stands to the rules'; on pages that these do not settle."""
    found: defaultdict[str, list[bool]] = defaultdict(list)
    for page in pages:
        row = answers.get(page.case.title)
        if row and not page.settled and row["primary_type"] != "Unknown":
            standing = weigh_answer(page.rules, row, load_model_weighing()).standing
            found[standing].append(row["primary_type"] in page.truth)
            found[f"{standing}, by {page.rules['confidence']:.1f}"].append(row["primary_type"] in page.truth)
    print(
        "with the rules, where these are unsure: "
        + "; ".join(f"{name} {sum(right)}/{len(right)}" for name, right in sorted(found.items()))
    )


def costs(lake: Lake, model: str, batch: str) -> None:
    """What the answers took; seconds by the server, of which slots spend several at once."""
    kept = read_partition(lake, LLM_RUNS, f"page_classification-{batch}")
    rows = [row for row in kept if row["model"] == model]

    def total(name: str) -> float:
        return float(sum(row[name] for row in rows))

    print(
        f"  {total('calls'):.0f} calls; {total('tokens_in') / len(rows):.0f} tokens read and "
        f"{total('tokens_out') / len(rows):.0f} written a page; {total('prompt_ms') / 1000:.0f} s of "
        f"reading, {total('generation_ms') / 1000:.0f} s of writing; "
        f"{dict(Counter(row['status'] for row in rows))}"
    )


if __name__ == "__main__":
    main()
