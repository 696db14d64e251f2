"""What each derived asset of a batch follows from, without the code that makes it."""

from collections.abc import Iterable

from holocron_assets.classify.decided_types import read_decided_types
from holocron_assets.classify.learned.answers import read_predictions
from holocron_assets.classify.rule_file import RULES_VERSION
from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.crawl.sources.files import AnySource
from holocron_assets.derive.interrogations.loading import derived_tables
from holocron_assets.entities.facts.rules import FACT_READER_VERSION, RULES_FOLDER, rules_version
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.freshness import Derivation, RowInput, stale_partitions
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import (
    BATCH_PAGES,
    DECISIONS,
    ENTITY_CANDIDATES,
    FILE_USES,
    PAGE_CHUNKS,
    PAGE_FACTS,
    PAGE_LINKS,
    PAGE_SIGNALS,
    PAGE_TAGS,
    PAGE_TYPES,
    PAGES,
    RULE_CLASSIFICATIONS,
    SITES,
    TYPE_PREDICTIONS,
)
from holocron_assets.lake.tables.classify import MODEL_TABLE
from holocron_assets.lake.tables.identity import EXTRACTION
from holocron_assets.planning.page_by_page import unread_input
from holocron_assets.settings import infobox_rules_folder

_LANGUAGES = "holocron_assets.languages.language"
_DERIVED = {table.name: table for table in derived_tables()}


def _if_declared(name: str) -> tuple[Table, ...]:
    """The table of an interrogation, which may not be there."""
    return (_DERIVED[name],) if name in _DERIVED else ()


LINKS_DERIVATION = Derivation(
    PAGE_LINKS,
    (PAGES,),
    (SITES,),
    code_version("holocron_assets.signals.links", _LANGUAGES),
    row_inputs=(unread_input(PAGE_LINKS),),
)
SIGNALS_DERIVATION = Derivation(
    PAGE_SIGNALS,
    (PAGES,),
    (SITES,),
    code_version("holocron_assets.signals.extract", _LANGUAGES),
    row_inputs=(unread_input(PAGE_SIGNALS),),
)
FILE_USES_DERIVATION = Derivation(
    FILE_USES,
    (PAGES, PAGE_SIGNALS),
    (SITES,),
    code_version("holocron_assets.signals.file_uses", _LANGUAGES),
    row_inputs=(unread_input(FILE_USES),),
)
RULES_DERIVATION = Derivation(
    RULE_CLASSIFICATIONS,
    (PAGE_SIGNALS,),
    (SITES,),
    f"{load_taxonomy().taxonomy_version}-{RULES_VERSION}",
    row_inputs=(unread_input(RULE_CLASSIFICATIONS),),
)
TYPES_DERIVATION = Derivation(
    PAGE_TYPES,
    (PAGE_SIGNALS, RULE_CLASSIFICATIONS),
    (),
    code_version("holocron_assets.classify.merge", "holocron_assets.classify.decided_types"),
    optional_inputs=_if_declared(MODEL_TABLE),
    row_inputs=(RowInput(DECISIONS, read_decided_types), RowInput(TYPE_PREDICTIONS, read_predictions)),
)
CANDIDATES_DERIVATION = Derivation(
    ENTITY_CANDIDATES,
    (PAGE_TYPES, PAGE_SIGNALS),
    (),
    code_version("holocron_assets.entities.identity.candidates"),
)
TAGS_DERIVATION = Derivation(
    PAGE_TAGS,
    (PAGE_SIGNALS, PAGE_TYPES),
    (),
    code_version("holocron_assets.entities.tags.page_tags"),
    optional_inputs=_if_declared(EXTRACTION),
)
FACTS_DERIVATION = Derivation(
    PAGE_FACTS,
    (PAGES, PAGE_SIGNALS),
    (SITES,),
    FACT_READER_VERSION,
    row_inputs=(unread_input(PAGE_FACTS),),
    files_version=lambda: rules_version(RULES_FOLDER, infobox_rules_folder()),
)

CHUNKS_DERIVATION = Derivation(
    PAGE_CHUNKS,
    (PAGES, PAGE_SIGNALS),
    (SITES,),
    code_version(
        "holocron_assets.retrieval.passages",
        "holocron_assets.derive.evidence.page_text",
        "holocron_assets.derive.evidence.chunks",
        "holocron_assets.signals.clean",
        _LANGUAGES,
    ),
    row_inputs=(unread_input(PAGE_CHUNKS),),
)

BATCH_DERIVATIONS: tuple[Derivation, ...] = (
    LINKS_DERIVATION,
    SIGNALS_DERIVATION,
    FILE_USES_DERIVATION,
    RULES_DERIVATION,
    TYPES_DERIVATION,
    CANDIDATES_DERIVATION,
    TAGS_DERIVATION,
    FACTS_DERIVATION,
    CHUNKS_DERIVATION,
)
"""Those of all steps, each after the ones that it reads."""


def stale_batches(lake: Lake, sources: Iterable[AnySource]) -> list[str]:
    """Fetched batches with a stale derived table: today's code, rules and inputs would give another.

    Stale steps are found in order: what follows a stale one is redone with it. A batch whose pages were set
    aside as damaged waits until they are fetched again.
    """
    names = {source.name for source in sources}
    cut, fetched = lake.partitions(BATCH_PAGES), set(lake.partitions(PAGES))
    batches = [batch for batch in cut if batch in fetched and source_of(batch) in names]
    return stale_partitions(lake, BATCH_DERIVATIONS, batches)
