"""The function of each derived asset of a batch: it takes rows of its inputs, and gives its own rows."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from holocron_assets.classify.decided_types import DecidedTypes
from holocron_assets.classify.merge import page_type_row
from holocron_assets.classify.rules import classify_page, load_rules, unclassified_row
from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.entities.facts.page_facts import page_fact_rows
from holocron_assets.entities.facts.rules import RuleBook, load_rule_book
from holocron_assets.entities.identity.candidates import candidate_row
from holocron_assets.entities.tags.page_tags import chunk_tag_rows, page_tag_rows
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.files.footers import FileState
from holocron_assets.lake.files.parquet import (
    Footer,
    read_footer,
    read_partition,
    rows_there,
    write_partition,
)
from holocron_assets.lake.freshness import Derivation, RowsByTable
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import (
    DECISIONS,
    PAGE_SIGNALS,
    PAGE_TYPES,
    PAGES,
    RULE_CLASSIFICATIONS,
    SITES,
    TYPE_PREDICTIONS,
)
from holocron_assets.lake.tables.classify import MODEL_TABLE
from holocron_assets.lake.tables.identity import EXTRACTION
from holocron_assets.lake.titles import Site
from holocron_assets.planning.batch_derivations import (
    CANDIDATES_DERIVATION,
    CHUNKS_DERIVATION,
    FACTS_DERIVATION,
    FILE_USES_DERIVATION,
    LINKS_DERIVATION,
    RULES_DERIVATION,
    SIGNALS_DERIVATION,
    TAGS_DERIVATION,
    TYPES_DERIVATION,
)
from holocron_assets.planning.page_by_page import PageByPage
from holocron_assets.retrieval.passages import passage_rows
from holocron_assets.settings import infobox_rules_folder
from holocron_assets.signals.extract import signal_row, unread_row
from holocron_assets.signals.file_uses import file_use_rows
from holocron_assets.signals.infobox.values import infobox_values
from holocron_assets.signals.links import link_rows

_ENTITY_TYPES = frozenset(load_taxonomy().entity_worthy_types)

_NOTED = 40
_KEPT_FILES = 5
"""Files of a batch whose rows stay in memory: its pages, its site, and what most steps read beside them."""

Inputs = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Step:
    """One derived table of a batch.

    Attributes:
        derivation: its table, inputs and code version.
        group: the asset group that shows it.
        make: the rows, from the rows of its inputs and the run's id. Texts are read page by page.
        counted: the column whose values a materialization counts.
        notes: further lists for a batch's materialization, by name.
    """

    derivation: Derivation
    group: str
    make: Callable[[Inputs, str, PageByPage], Sequence[Row]]
    counted: str
    notes: Callable[[Lake, str], Mapping[str, Sequence[str]]] | None = None

    @property
    def table(self) -> Table:
        """The table that it makes."""
        return self.derivation.table


def run_step(lake: Lake, step: Step, batch: str, run_id: str) -> tuple[Footer, Sequence[Row]]:
    """Make one partition of a derived table and write it, unless the file has the same content.

    Args:
        lake: where inputs are and the rows go.
        step: the table.
        batch: the partition.
        run_id: written into rows that name their run.

    Returns:
        The file's footer, and its rows.

    Raises:
        MissingPartitionError: an input is missing; names it.
        SchemaError: the rows do not fit the table; nothing was written.
    """
    # Before rules and inputs are read: if one changes meanwhile, the new file is stale, not wrong for ever.
    derivation = step.derivation.as_of_now()
    rows_of = derivation.rows_of(lake)
    fingerprints = derivation.fingerprints(lake, batch, rows_of)
    standing = read_footer(lake, step.table, batch)
    if standing and fingerprints and not derivation.is_stale(lake, batch, rows_of):
        return standing, read_partition(lake, step.table, batch)
    inputs = _inputs(lake, derivation, batch, rows_of)
    with PageByPage(lake, derivation, batch, run_id) as pages:
        rows = step.make(inputs, run_id, pages)
        if pages.keep_given_up() and fingerprints:
            fingerprints = {**fingerprints, **derivation.late_fingerprints(lake, batch)}
        footer = write_partition(
            lake, step.table, batch, rows, code_version=derivation.code_version, inputs=fingerprints
        )
        pages.conclude()
    return footer, rows


def _inputs(lake: Lake, derivation: Derivation, batch: str, rows_of: RowsByTable) -> Inputs:
    """The rows of each input; none for a missing optional one."""
    found: dict[str, Sequence[Row]] = {table.name: _rows(lake, table, batch) for table in derivation.inputs}
    for table in derivation.optional_inputs:
        found[table.name] = rows_there(lake, table, batch)
    for table in derivation.source_inputs:
        found[table.name] = _rows(lake, table, source_of(batch))
    return found | dict(rows_of(batch))


def _rows(lake: Lake, table: Table, batch: str) -> Sequence[Row]:
    """The rows of an input. The steps of a batch read the same few files one after another, each once."""
    try:
        state = FileState.of(lake.file(table, batch).stat())
    except FileNotFoundError:  # it is packed, or missing
        return read_partition(lake, table, batch)
    return _rows_of_file(lake, table, batch, state)


@lru_cache(maxsize=_KEPT_FILES)
def _rows_of_file(lake: Lake, table: Table, batch: str, _state: FileState) -> Sequence[Row]:
    return read_partition(lake, table, batch)


def readable_pages(pages: Sequence[Row]) -> list[Row]:
    """Pages with a text, each once: two requested titles may be one page."""
    first: dict[int, Row] = {}
    for page in pages:
        if page["status"] == "ok":
            first.setdefault(page["title_key"], page)
    return list(first.values())


def _site(inputs: Inputs) -> Site:
    return Site.from_row(inputs[SITES.name][0])


def _page_links(inputs: Inputs, _run_id: str, pages: PageByPage) -> list[Row]:
    site = _site(inputs)
    return pages.rows(readable_pages(inputs[PAGES.name]), lambda page: link_rows(page, site))


def _page_signals(inputs: Inputs, _run_id: str, pages: PageByPage) -> list[Row]:
    site = _site(inputs)
    return pages.rows(
        readable_pages(inputs[PAGES.name]),
        lambda page: [signal_row(page, site)],
        lambda page: [unread_row(page, pages.given_up[page["title_key"]]["error"])],
    )


def _file_uses(inputs: Inputs, _run_id: str, pages: PageByPage) -> list[Row]:
    site = _site(inputs)
    leads = {
        row["title_key"]: row["lead_offset"] for row in inputs[PAGE_SIGNALS.name] if row["infobox_template"]
    }
    return pages.rows(
        readable_pages(inputs[PAGES.name]),
        lambda page: file_use_rows(page, site, leads.get(page["title_key"])),
    )


def _rule_classifications(inputs: Inputs, _run_id: str, pages: PageByPage) -> list[Row]:
    book = load_rules(_site(inputs).language)
    return pages.rows(
        inputs[PAGE_SIGNALS.name],
        lambda signals: [classify_page(signals, book)],
        lambda signals: [unclassified_row(signals)],
    )


def _page_types(inputs: Inputs, run_id: str, _pages: PageByPage) -> list[Row]:
    rules, models, learned = (
        {row["title_key"]: row for row in inputs.get(name, ())}
        for name in (RULE_CLASSIFICATIONS.name, MODEL_TABLE, TYPE_PREDICTIONS.name)
    )
    decided = DecidedTypes(inputs.get(DECISIONS.name, ()))
    return [
        page_type_row(
            signals,
            rules[key],
            run_id,
            model=models.get(key),
            learned=learned.get(key),
            decision=decided.about(signals, rules[key]),
        )
        for signals in inputs[PAGE_SIGNALS.name]
        for key in [signals["title_key"]]
    ]


def _page_tags(inputs: Inputs, _run_id: str, _pages: PageByPage) -> list[Row]:
    types = {row["title_key"]: row for row in inputs[PAGE_TYPES.name]}
    of_pages = (
        row
        for signals in inputs[PAGE_SIGNALS.name]
        for row in page_tag_rows(signals, types[signals["title_key"]])
    )
    return [*of_pages, *chunk_tag_rows(inputs.get(EXTRACTION, ()))]


def _entity_candidates(inputs: Inputs, run_id: str, _pages: PageByPage) -> list[Row]:
    signals = {row["title_key"]: row for row in inputs[PAGE_SIGNALS.name]}
    rows = [
        candidate_row(page, signals[page["title_key"]], run_id, entity_types=_ENTITY_TYPES)
        for page in inputs[PAGE_TYPES.name]
    ]
    return [row for row in rows if row is not None]


def _page_facts(inputs: Inputs, _run_id: str, pages: PageByPage) -> list[Row]:
    site, rules = _site(inputs), _infobox_rules(inputs[SITES.name][0])
    templates = {row["title_key"]: row["infobox_template"] for row in inputs[PAGE_SIGNALS.name]}

    def read(page: Row) -> list[Row]:
        template = templates[page["title_key"]]
        values = infobox_values(page["wikitext"], template, site, partial(rules.parts_at_commas, template))
        return page_fact_rows(page, template, values, rules)

    with_infobox = (page for page in readable_pages(inputs[PAGES.name]) if templates.get(page["title_key"]))
    return pages.rows(with_infobox, read)


def _page_chunks(inputs: Inputs, _run_id: str, pages: PageByPage) -> list[Row]:
    site = _site(inputs)
    names = {row["title_key"]: row["name"] for row in inputs[PAGE_SIGNALS.name] if not row["is_redirect"]}
    with_text = (page for page in readable_pages(inputs[PAGES.name]) if page["title_key"] in names)
    return pages.rows(with_text, lambda page: passage_rows(page, site, names[page["title_key"]]))


def _infobox_rules(site: Row) -> RuleBook:
    return load_rule_book(site["source"], infobox_rules_folder(), language=site["language"])


def _fields_without_rule(lake: Lake, batch: str) -> Mapping[str, Sequence[str]]:
    """The infobox fields of a batch that no rule knows, the most frequent first."""
    rules = _infobox_rules(read_partition(lake, SITES, source_of(batch))[0])
    rows = read_partition(lake, PAGE_SIGNALS, batch, ["infobox_template", "infobox_fields"])
    counts = Counter(
        f"{row['infobox_template']}: {field['name']}"
        for row in rows
        for field in row["infobox_fields"]
        if field["value"] and not rules.of(row["infobox_template"], field["name"])
    )
    return {"fields_without_rule": [f"{name} ({count})" for name, count in counts.most_common(_NOTED)]}


BATCH_STEPS: tuple[Step, ...] = (
    Step(LINKS_DERIVATION, "signals", _page_links, "kind"),
    Step(SIGNALS_DERIVATION, "signals", _page_signals, "continuity"),
    Step(FILE_USES_DERIVATION, "files", _file_uses, "role"),
    Step(RULES_DERIVATION, "classification", _rule_classifications, "primary_type"),
    Step(TYPES_DERIVATION, "classification", _page_types, "primary_type"),
    Step(CANDIDATES_DERIVATION, "entities", _entity_candidates, "entity_type"),
    Step(TAGS_DERIVATION, "tags", _page_tags, "method"),
    Step(FACTS_DERIVATION, "entities", _page_facts, "key", _fields_without_rule),
    Step(CHUNKS_DERIVATION, "retrieval", _page_chunks, "source"),
)
