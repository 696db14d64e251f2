"""A large wiki made up, as a lake that everything believes fresh: its links without its texts.

    python benchmarks/large_wiki.py FOLDER --pages 200000 --links 12000000
    python benchmarks/large_wiki.py FOLDER --pages 7000000 --links 420000000

writes FOLDER/data (the lake) and FOLDER/sources (its source file), or prints how long that takes and
removes it, without FOLDER: about 20 bytes a link, and three times that with `--derived`, which adds all
that follows from the pages. How often titles are linked to falls with the two thirds power of their rank,
much as on real wikis; one title in eight was never fetched, and one fetched page in fifty is missing. A
page links to a title once, so there are a few links fewer than asked for. Rows are made by NumPy and Arrow
and not validated one by one, and nothing is synced. The same numbers and seed give the same rows.
"""

import argparse
import multiprocessing
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from holocron_assets.crawl.sources.files import load_source
from holocron_assets.crawl.sources.seeds import SEEDS_VERSION, fingerprint
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.files.parquet import Footer, sealed, write_file, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    BATCH_PAGES,
    ENTITY_CANDIDATES,
    HTTP_ATTEMPTS,
    PAGE_LINKS,
    PAGE_SIGNALS,
    PAGE_TYPES,
    PAGES,
    RULE_CLASSIFICATIONS,
    SEED_TITLES,
    SITES,
)
from holocron_assets.planning.batch_steps import BATCH_STEPS

SOURCE = "large"
START = datetime(2026, 1, 1, tzinfo=UTC)
TITLES_PER_PAGE = 8 / 7
CATEGORY_EVERY = 50
MISSING_EVERY = 50
REDIRECT_EVERY = 40
RANK_POWER = 3.0
SPREAD_OF_LINKS = 0.8
REQUESTS_IN_BATCH = 10

Numbers = npt.NDArray[np.int64]
Columns = Mapping[str, Any]


@dataclass(frozen=True)
class Wiki:
    """Every title of the wiki by rank, the most linked first.

    Attributes:
        titles: Arrow text.
        keys: their title keys.
        pages: so many of the first titles were fetched.
        links: how many links they have together.
        batch_size: pages in a batch.
        seed: of the random numbers.
    """

    titles: pa.StringArray
    keys: Numbers
    pages: int
    links: int
    batch_size: int
    seed: int

    @property
    def batches(self) -> int:
        return -(-self.pages // self.batch_size)

    def ranks(self, number: int) -> Numbers:
        """Ranks of a batch's pages."""
        return np.arange(number * self.batch_size, min((number + 1) * self.batch_size, self.pages))


def main() -> None:
    arguments = arguments_of()
    with tempfile.TemporaryDirectory() as temporary:
        write_wiki(arguments.folder or Path(temporary), arguments)


def write_wiki(folder: Path, arguments: argparse.Namespace) -> None:
    """Write a wiki as the command line's arguments say, and print how large it is."""
    started = perf_counter()
    lake = Lake(folder.resolve() / "data")
    wiki = make_wiki(arguments.pages, arguments.links, arguments.batch_size, arguments.seed)
    site = write_source(folder, lake, wiki, arguments.seeds)
    make = partial(write_batch, lake, wiki, site.content_id, with_derived=arguments.derived)
    # Forked, so that the titles are in memory once.
    with multiprocessing.get_context("fork").Pool(arguments.workers, _keep, [make]) as pool:
        links = sum(pool.imap_unordered(_make_kept, range(wiki.batches), chunksize=8))
    size = sum(file.stat().st_size for file in lake.files())
    print(f"{wiki.pages:,} pages in {wiki.batches:,} batches, {links:,} links, {len(wiki.keys):,} titles")
    print(f"{size / 1e9:.2f} GB, {perf_counter() - started:.0f} s")


def make_wiki(pages: int, links: int, batch_size: int, seed: int) -> Wiki:
    """The titles, each a few words and a number."""
    count = int(pages * TITLES_PER_PAGE)
    words = pa.array(["".join(parts).capitalize() for parts in product(("ka", "vel", "tor", "mi"), repeat=4)])
    ranks = np.arange(count)
    prefixes = pa.array(np.where(ranks % CATEGORY_EVERY == CATEGORY_EVERY - 1, "Category:", ""))
    scattered = (ranks * 2_654_435_761) % 2**32
    titles = pc.binary_join_element_wise(
        pc.binary_join_element_wise(prefixes, words.take(pa.array(scattered % len(words))), ""),
        words.take(pa.array(scattered // len(words) % len(words))),
        pa.array(ranks).cast(pa.string()),
        " ",
    )
    keys = np.fromiter((title_key(SOURCE, title.as_py()) for title in titles), np.int64, count)
    return Wiki(titles, keys, pages, links, batch_size, seed)


def write_source(folder: Path, lake: Lake, wiki: Wiki, seeds: int) -> Footer:
    """The source file, its site and its seeds: the titles that are linked most. Gives the site's footer."""
    path = folder / "sources" / f"{SOURCE}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"name: {SOURCE}\nenabled: true\nkind: mediawiki_api\naddress: http://127.0.0.1:9/api.php\n"
        "private_hosts: [127.0.0.1]\nnamespaces: [0, 14]\nseeds: {all_pages: true}\ndepth: unlimited\n"
        f"batch_size: {wiki.batch_size}\npoliteness: {{contact: nobody@example.org}}\n",
        encoding="utf-8",
    )
    site = {
        "source": SOURCE,
        "site_name": "A large wiki",
        "title_case": "first-letter",
        "namespaces": [
            {"id": number, "name": name, "canonical": name, "aliases": []}
            for number, name in ((0, ""), (14, "Category"))
        ],
        "interwiki_prefixes": [],
        "fetched_at": START,
    }
    ranks = np.arange(seeds)
    columns = {**_named(wiki, ranks), "origin": "all_pages", "listed_at": START}
    marks = fingerprint(load_source(path))
    _write(lake, SEED_TITLES, SOURCE, columns, seeds, code_version=SEEDS_VERSION, inputs=marks)
    return write_partition(lake, SITES, SOURCE, [site])


def write_batch(lake: Lake, wiki: Wiki, site_id: str, number: int, *, with_derived: bool) -> int:
    """All tables of one batch. Gives the number of its links."""
    batch, ranks = f"{SOURCE}-{number + 1:06d}", wiki.ranks(number)
    common = {**_named(wiki, ranks), "batch": batch, "position": np.arange(len(ranks)), "run_id": "made up"}
    is_ok = ranks % MISSING_EVERY != 0
    _write(
        lake,
        BATCH_PAGES,
        batch,
        {**common, "reason": "new", "origin": "http://127.0.0.1:9/api.php", "cut_at": START},
        len(ranks),
    )
    pages = _write(lake, PAGES, batch, {**common, **_page_columns(ranks, is_ok, common)}, len(ranks))
    links = _link_columns(wiki, number, ranks[is_ok])
    inputs = {SITES.name: site_id, PAGES.name: pages.content_id}
    versions = {step.table.name: step.derivation.code_version for step in BATCH_STEPS}
    count = len(links["position"])
    _write(
        lake,
        PAGE_LINKS,
        batch,
        {**links, "batch": batch},
        count,
        code_version=versions[PAGE_LINKS.name],
        inputs=inputs,
    )
    if with_derived:
        readable = _named(wiki, ranks[is_ok]) | {"batch": batch, "run_id": "made up"}
        _write_derived(lake, batch, readable, {**inputs})
    return count


def _write_derived(lake: Lake, batch: str, page: Columns, inputs: dict[str, str]) -> None:
    """What follows from the pages: every page is a place that rules are sure of."""
    count = len(page["title_key"])
    typed = {
        "primary_type": "LocationPlace",
        "entity_type": "LocationPlace",
        "confidence": 0.9,
        "method": "rules",
        "continuity": "canon",
        "name": page["title"],
        "has_lead": True,
        "revision_id": np.arange(count) + 1,
        "page_id": page["title_key"],
        "lead_length": 80,
    }
    written = dict(inputs)
    for step in BATCH_STEPS:
        if step.table in (PAGE_SIGNALS, RULE_CLASSIFICATIONS, PAGE_TYPES, ENTITY_CANDIDATES):
            named = [table.name for table in (*step.derivation.inputs, *step.derivation.source_inputs)]
            footer = _write(
                lake,
                step.table,
                batch,
                {**page, **typed},
                count,
                code_version=step.derivation.code_version,
                inputs={name: written[name] for name in named},
            )
            written[step.table.name] = footer.content_id
    attempts = pa.array([f"{batch}-{n}" for n in range(REQUESTS_IN_BATCH)])
    request = {
        "attempt_id": attempts,
        "source": SOURCE,
        "scope": batch,
        "host": "127.0.0.1:9",
        "started_at": START,
        "outcome": "ok",
        "status": 200,
    }
    _write(lake, HTTP_ATTEMPTS, batch, request, REQUESTS_IN_BATCH)


def _page_columns(ranks: Numbers, is_ok: npt.NDArray[np.bool_], common: Columns) -> Columns:
    is_redirect = is_ok & (ranks % REDIRECT_EVERY == 1)
    return {
        "requested_title": common["title"],
        "requested_key": common["title_key"],
        "page_id": pa.array(ranks + 1, mask=~is_ok),
        "revision_id": pa.array(ranks * 3 + 1, mask=~is_ok),
        "revision_at": START,
        "status": pa.array(np.where(is_ok, "ok", "missing")),
        "redirect_target": pa.array(np.where(is_redirect, "Main Page", ""), mask=~is_redirect),
        "http_status": 200,
        "attempts": 1,
        "fetched_at": START,
    }


def _link_columns(wiki: Wiki, number: int, ranks: Numbers) -> Columns:
    """Links of a batch's pages: each page its number, to targets by rank, no target twice."""
    random = np.random.default_rng([wiki.seed, number])
    weights = random.lognormal(sigma=SPREAD_OF_LINKS, size=len(ranks))
    is_redirect = ranks % REDIRECT_EVERY == 1
    weights[is_redirect] = 0
    wanted = wiki.links * len(ranks) / (wiki.pages * (1 - 1 / MISSING_EVERY))
    counts = np.where(is_redirect, 1, np.maximum(1, weights / weights.sum() * wanted)).astype(np.int64)
    page = np.repeat(np.arange(len(ranks)), counts)
    target = (random.random(len(page)) ** RANK_POWER * len(wiki.keys)).astype(np.int64)
    pairs = np.unique(page * len(wiki.keys) + target)
    page, target = pairs // len(wiki.keys), pairs % len(wiki.keys)
    is_category = target % CATEGORY_EVERY == CATEGORY_EVERY - 1
    kinds = np.where(is_redirect[page], 2, is_category.astype(np.int64))
    first = np.searchsorted(page, np.arange(len(ranks)))
    return {
        "source": SOURCE,
        "from_key": wiki.keys[ranks[page]],
        "from_title": wiki.titles.take(pa.array(ranks[page])),
        "kind": pa.array(["link", "category", "redirect"]).take(pa.array(kinds)),
        "target": wiki.titles.take(pa.array(target)),
        "target_key": wiki.keys[target],
        "target_namespace": np.where(is_category, 14, 0),
        "position": np.arange(len(page)) - first[page],
    }


def _named(wiki: Wiki, ranks: Numbers) -> dict[str, Any]:
    return {
        "source": SOURCE,
        "title": wiki.titles.take(pa.array(ranks)),
        "title_key": wiki.keys[ranks],
        "namespace": np.where(ranks % CATEGORY_EVERY == CATEGORY_EVERY - 1, 14, 0),
    }


def _write(  # noqa: PLR0913 - as write_partition, and how many rows
    lake: Lake,
    table: Table,
    partition: str,
    columns: Columns,
    rows: int,
    *,
    code_version: str = "",
    inputs: Mapping[str, str] | None = None,
) -> Footer:
    """Write a partition from columns: arrays, or one value for all rows; what is not given is empty."""
    arrays = [_array(field, columns.get(field.name), rows) for field in table.arrow_schema]
    arrow = pa.Table.from_arrays(arrays, schema=table.arrow_schema)
    file = lake.file(table, partition)
    footer, arrow = sealed(table, arrow, file, code_version=code_version, inputs=inputs or {})
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(table, arrow, file)
    return footer


def _array(field: pa.Field, value: Any, rows: int) -> pa.Array:
    if isinstance(value, np.ndarray):
        return pa.array(value, field.type)
    if isinstance(value, pa.Array):
        return value
    if value is None and not field.nullable:
        value = [] if pa.types.is_list(field.type) else pa.scalar(0, pa.int64()).cast(field.type).as_py()
    return pa.repeat(pa.scalar(value, field.type), rows)


_kept: dict[str, Any] = {}


def _keep(make: Any) -> None:
    _kept["make"] = make


def _make_kept(number: int) -> int:
    links: int = _kept["make"](number)
    return links


def arguments_of(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line's arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="made, if it is not there")
    parser.add_argument("--pages", type=int, default=200_000, help="pages that were fetched")
    parser.add_argument("--links", type=int, default=12_000_000, help="links that they have together")
    parser.add_argument("--batch-size", type=int, default=500, help="pages in a batch")
    parser.add_argument("--seeds", type=int, default=1_000, help="titles that the crawl started from")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument(
        "--derived", action="store_true", help="also signals, types, candidates, HTTP attempts"
    )
    return parser.parse_args(given)


if __name__ == "__main__":
    main()
