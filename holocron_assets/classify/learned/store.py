"""The tables of the learned model, a source at a time: when they are stale, and how they are made."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from pathlib import Path

from holocron_assets.classify.learned.evaluation import Evaluation
from holocron_assets.classify.learned.features import infobox_is_contradicted
from holocron_assets.classify.learned.meaning import Meanings
from holocron_assets.classify.learned.model import TypeModel
from holocron_assets.classify.learned.seen_pages import SeenPages, seen_pages
from holocron_assets.classify.learned.settled import SettledPages, articles_of
from holocron_assets.classify.learned.training import MOST_PAGES, SettledPage, train
from holocron_assets.classify.rule_file import RULES_VERSION
from holocron_assets.classify.rules import is_open
from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.decisions.log import SHARED, TYPE_KINDS, all_decisions, standing
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.parquet import (
    Footer,
    read_footer,
    read_partition,
    read_table,
    write_partition,
    write_table,
)
from holocron_assets.lake.freshness import LakeListings
from holocron_assets.lake.packs.packs import FileMark
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import (
    PAGE_SIGNALS,
    RULE_CLASSIFICATIONS,
    TYPE_MODEL,
    TYPE_PREDICTIONS,
)
from holocron_assets.lake.tables.classify import MODEL_TABLE
from holocron_assets.lake.views.database import connect

LEARNED_VERSION = f"{code_version(__name__)}-{load_taxonomy().taxonomy_version}-{RULES_VERSION}"
"""Version of the code, types and rules that both tables follow from."""

_ENOUGH_CHANGED = 0.1
"""The share of batches, or of the pages that it learned from, whose change makes a model be trained."""

FEWEST_OPEN_PAGES = 50
"""A source of which the rules leave fewer articles open has no model: people answer these sooner."""

_LESSONS, _OF_PAGES, _SHARED = "lessons", "decisions about pages", "decisions about templates and categories"
"""In a model's footer, beside the content ids of batches: how many settled pages it learned from, how often
people decided about pages of its source or took that back, and a hash of the others.
"""

_OPEN_PAGES: dict[tuple[Path, str], tuple[FileMark | None, int]] = {}
"""How many pages of each batch the rules leave open, with the mark of the batch's file."""


def stale_type_models(lake: Lake, sources: Sequence[str]) -> list[str]:
    """The sources whose model is to be trained: by other code, or since enough of what teaches it changed.

    Enough are a tenth of the batches, as many decisions about pages as a tenth of the pages that it learned
    from, or one decision about a template or category. A source with few open pages has no model.
    """
    listings, batches = LakeListings(lake), _batches(lake)
    return [name for name in sources if batches[name] and _must_learn(listings, name, batches[name])]


def store_type_model(lake: Lake, source: str) -> tuple[Footer, Evaluation | None]:
    """Write table `type_model` for one source.

    Args:
        lake: where everything is.
        source: the source; it names the partition.

    Returns:
        The new file's footer, and how right the model is; None if too few pages are settled to learn from,
        or too few are open. Then the file has no rows.
    """
    # Taken before the pages are read: pages that are settled meanwhile count as changed.
    listings, settled, batches = LakeListings(lake), SettledPages(lake), _batches(lake)[source]
    inputs = _taught_by(listings, source, batches)
    lessons = list(_lessons(listings, source, batches, settled)) if _is_worth_it(listings, batches) else []
    trained = train(lessons)
    rows = trained[0].as_table(source) if trained else TYPE_MODEL.arrow_schema.empty_table()
    inputs[_LESSONS] = str(len(lessons))
    footer = write_table(lake, TYPE_MODEL, source, rows, code_version=LEARNED_VERSION, inputs=inputs)
    return footer, trained[1] if trained else None


def stale_type_predictions(lake: Lake, sources: Sequence[str]) -> list[str]:
    """The sources whose model, or open pages, are not those that table `type_predictions` was made from."""
    listings = LakeListings(lake)
    batches = _batches(lake)
    stale = []
    for name in sources:
        footer, wanted = read_footer(lake, TYPE_PREDICTIONS, name), _inputs(listings, name, batches[name])
        if wanted and (footer is None or not footer.is_of(LEARNED_VERSION, wanted)):
            stale.append(name)
    return stale


def store_type_predictions(lake: Lake, source: str) -> Footer:
    """Write table `type_predictions` for one source; a batch without a change keeps its rows.

    Args:
        lake: where everything is.
        source: the source; it names the partition.

    Raises:
        MissingPartitionError: the source has no model yet.
    """
    before = read_footer(lake, TYPE_PREDICTIONS, source)
    batches = _batches(lake)[source]
    listings = LakeListings(lake)
    inputs = _inputs(listings, source, batches)
    model = TypeModel.from_table(read_table(lake, TYPE_MODEL, source))
    version = inputs[TYPE_MODEL.name]
    current = _current_pages(lake, source)
    known: dict[str, list[Row]] = defaultdict(list)
    if before and (before.code_version, before.inputs[TYPE_MODEL.name]) == (LEARNED_VERSION, version):
        for row in read_partition(lake, TYPE_PREDICTIONS, source):
            known[row["batch"]].append(row)
    else:
        before = None
    anew = [batch for batch in batches if before is None or before.inputs.get(batch) != inputs[batch]]
    made: Mapping[str, Sequence[Row]] = {}
    if model and anew:
        with seen_pages(listings, source, batches) as seen:
            made = {batch: _predicted(seen, batch, model, version) for batch in anew}
    rows = [
        row
        for batch in batches
        for row in made.get(batch, known[batch])
        if row["title_key"] in current[batch]
    ]
    return write_partition(lake, TYPE_PREDICTIONS, source, rows, code_version=LEARNED_VERSION, inputs=inputs)


def _batches(lake: Lake) -> Mapping[str, list[str]]:
    """The classified batches of each source."""
    found: dict[str, list[str]] = defaultdict(list)
    for batch in lake.partitions(RULE_CLASSIFICATIONS):
        found[source_of(batch)].append(batch)
    return found


def _taught_by(listings: LakeListings, source: str, batches: Sequence[str]) -> dict[str, str]:
    """What teaches a source's model: the content ids of its batches, and people's decisions."""
    lake = listings.lake
    tables = [RULE_CLASSIFICATIONS, *(table for table in lake.derived_tables if table.name == MODEL_TABLE)]
    meanings = Meanings(listings, batches)
    found = {batch: f"{_contents(listings, tables, batch)} {meanings.content_id(batch)}" for batch in batches}
    made = [row for row in standing(lake).of_kind(*SHARED) if row["source"] == source]
    shared = sorted(row["decision_id"] for row in made)
    found[_OF_PAGES] = str(_times_decided(lake, source))
    found[_SHARED] = content_hash(repr(shared))
    return found


def _times_decided(lake: Lake, source: str) -> int:
    """How often people decided about a page of a source, or undid that: a number that only grows."""
    kinds = {*TYPE_KINDS} - SHARED.keys()
    every = [row for row in all_decisions(lake) if row["source"] == source]
    about_pages = {row["decision_id"] for row in every if row["kind"] in kinds}
    return len(about_pages) + sum(row["undoes"] in about_pages for row in every)


def _contents(listings: LakeListings, tables: Iterable[Table], partition: str) -> str:
    footers = (listings.footer(table, partition) for table in tables)
    return " ".join(footer.content_id if footer else "" for footer in footers)


def _must_learn(listings: LakeListings, source: str, batches: Sequence[str]) -> bool:
    footer = listings.footer(TYPE_MODEL, source)
    if footer is None:
        return _is_worth_it(listings, batches)
    now, then = _taught_by(listings, source, batches), footer.inputs
    changed = sum(then.get(batch) != now[batch] for batch in batches)
    decided = abs(int(now[_OF_PAGES]) - int(then.get(_OF_PAGES, 0)))
    is_enough = (
        footer.code_version != LEARNED_VERSION
        or changed > _ENOUGH_CHANGED * len(batches)
        or decided > _ENOUGH_CHANGED * int(then.get(_LESSONS, 0))
        or then.get(_SHARED) != now[_SHARED]
    )
    return is_enough and (footer.rows > 0 or _is_worth_it(listings, batches))


def _is_worth_it(listings: LakeListings, batches: Iterable[str]) -> bool:
    return sum(_open_pages(listings, batch) for batch in batches) >= FEWEST_OPEN_PAGES


def _open_pages(listings: LakeListings, batch: str) -> int:
    """How many pages of a batch the rules leave open; read once, as long as its file is the same."""
    place, mark = (listings.lake.root, batch), listings.listing(RULE_CLASSIFICATIONS).mark(batch)
    known = _OPEN_PAGES.get(place)
    if known is None or known[0] != mark:
        columns = ["needs_review", "confidence"]
        rows = read_partition(listings.lake, RULE_CLASSIFICATIONS, batch, columns)
        known = _OPEN_PAGES[place] = mark, sum(map(is_open, rows))
    return known[1]


def _inputs(listings: LakeListings, source: str, batches: Sequence[str]) -> dict[str, str]:
    """What a source's predictions are made from; empty while it has no model.

    That is the model, and the batches with their vectors, which may come later than the rest. Infoboxes of
    other batches that name a page wait for the next training: each batch would make all others anew.
    """
    model = listings.footer(TYPE_MODEL, source)
    if model is None:
        return {}
    found = {TYPE_MODEL.name: model.content_id}
    tables, meanings = (PAGE_SIGNALS, RULE_CLASSIFICATIONS), Meanings(listings, batches)
    return found | {
        batch: f"{_contents(listings, tables, batch)} {meanings.content_id(batch)}" for batch in batches
    }


def _current_pages(lake: Lake, source: str) -> Mapping[str, set[int]]:
    """Title keys of the pages as they are now, by the batch that holds their text."""
    found: dict[str, set[int]] = defaultdict(set)
    sql = "select batch, title_key from current_pages where source = $source"
    with connect(lake, relations=["current_pages"]) as connection:
        for batch, key in connection.execute(sql, {"source": source}).fetchall():
            found[batch].add(key)
    return found


def _lessons(
    listings: LakeListings, source: str, batches: Sequence[str], settled: SettledPages
) -> Iterator[SettledPage]:
    """The settled pages that a model learns from; a fair draw of them if they are too many."""
    current = _current_pages(listings.lake, source)
    taught = (
        (key, batch, page_type)
        for batch in batches
        for key, page_type in settled.types(batch).items()
        if key in current[batch]
    )
    by_batch: dict[str, dict[int, str]] = defaultdict(dict)
    for key, batch, page_type in nsmallest(MOST_PAGES, taught):  # keys are hashes: the least are a fair draw
        by_batch[batch][key] = page_type
    with seen_pages(listings, source, batches) as seen:
        for batch, types in by_batch.items():
            for signals, _, features in seen.of_batch(batch, types.keys()):
                yield SettledPage(signals["title_key"], types[signals["title_key"]], features)


def _predicted(seen: SeenPages, batch: str, model: TypeModel, version: str) -> Sequence[Row]:
    """Rows for the open pages of a batch.

    Where the rules read the infobox and something else contradicts it, the model abstains: pages with the
    same infobox taught it, but only those without a contradiction.
    """
    lake = seen.lake
    articles = {row["title_key"] for row in articles_of(lake, batch)}
    columns = ["title_key", "needs_review", "confidence"]
    answers = read_partition(lake, RULE_CLASSIFICATIONS, batch, columns)
    wanted = {row["title_key"] for row in answers if is_open(row)} & articles
    rows = []
    for signals, rules, features in seen.of_batch(batch, wanted):
        said, is_contradicted = model.predict(features), infobox_is_contradicted(rules)
        rows.append(
            {
                **{name: signals[name] for name in ("source", "batch", "title", "title_key", "revision_id")},
                "primary_type": said.type,
                "probability": said.probability,
                "second_type": said.second_type,
                "second_probability": said.second_probability,
                "is_familiar": said.is_familiar and not is_contradicted,
                "abstains": said.abstains or is_contradicted,
                "reasons": [reason._asdict() for reason in said.reasons],
                "model_version": version,
            }
        )
    return rows
