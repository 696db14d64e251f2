"""Every table of the lake, declared once. Files, checks, views, column schemas and docs follow from here."""

from holocron_assets.lake.schema import Table
from holocron_assets.lake.tables.classify import PAGE_TYPES, RULE_CLASSIFICATIONS
from holocron_assets.lake.tables.crawl import (
    BATCH_PAGES,
    CHANGE_LOOKS,
    DUMP_INDEX,
    HTTP_ATTEMPTS,
    KNOWN_LINKS,
    PAGE_CHANGES,
    PAGES,
    REVISION_CHECKS,
    SEED_TITLES,
    SITES,
)
from holocron_assets.lake.tables.decisions import DECISIONS
from holocron_assets.lake.tables.derive import GPU_RUNS, LLM_ATTEMPTS, LLM_RUNS, REPEAT_ANSWERS
from holocron_assets.lake.tables.facts import ENTITY_FACTS, ENTITY_RELATIONS, PAGE_FACTS
from holocron_assets.lake.tables.identity import (
    COMPARED_NAMES,
    ENTITY_JUDGEMENTS,
    ENTITY_MENTIONS,
    ENTITY_PAIRS,
)
from holocron_assets.lake.tables.operations import CONTROLS, GROUP_STEPS, RUN_TAGS
from holocron_assets.lake.tables.resolve import ENTITIES, ENTITY_ALIASES, ENTITY_CANDIDATES
from holocron_assets.lake.tables.review import REVIEW_ITEMS
from holocron_assets.lake.tables.signals import PAGE_LINKS, PAGE_SIGNALS, UNREAD_PAGES
from holocron_assets.lake.tables.tags import ENTITY_TAGS, PAGE_TAGS, TAG_RELATIONS, TAGS
from holocron_assets.lake.tables.told import ALERTS, NOTICES

ALL_TABLES: tuple[Table, ...] = (
    SITES,
    SEED_TITLES,
    DUMP_INDEX,
    BATCH_PAGES,
    PAGES,
    HTTP_ATTEMPTS,
    PAGE_CHANGES,
    CHANGE_LOOKS,
    REVISION_CHECKS,
    KNOWN_LINKS,
    PAGE_LINKS,
    PAGE_SIGNALS,
    UNREAD_PAGES,
    RULE_CLASSIFICATIONS,
    PAGE_TYPES,
    PAGE_FACTS,
    PAGE_TAGS,
    ENTITY_CANDIDATES,
    ENTITY_MENTIONS,
    ENTITY_PAIRS,
    COMPARED_NAMES,
    ENTITY_JUDGEMENTS,
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_FACTS,
    ENTITY_RELATIONS,
    TAGS,
    TAG_RELATIONS,
    ENTITY_TAGS,
    REVIEW_ITEMS,
    LLM_RUNS,
    LLM_ATTEMPTS,
    GPU_RUNS,
    REPEAT_ANSWERS,
    DECISIONS,
    CONTROLS,
    GROUP_STEPS,
    RUN_TAGS,
    NOTICES,
    ALERTS,
)

__all__ = [
    "ALERTS",
    "ALL_TABLES",
    "BATCH_PAGES",
    "CHANGE_LOOKS",
    "COMPARED_NAMES",
    "CONTROLS",
    "DECISIONS",
    "DUMP_INDEX",
    "ENTITIES",
    "ENTITY_ALIASES",
    "ENTITY_CANDIDATES",
    "ENTITY_FACTS",
    "ENTITY_JUDGEMENTS",
    "ENTITY_MENTIONS",
    "ENTITY_PAIRS",
    "ENTITY_RELATIONS",
    "ENTITY_TAGS",
    "GPU_RUNS",
    "GROUP_STEPS",
    "HTTP_ATTEMPTS",
    "KNOWN_LINKS",
    "LLM_ATTEMPTS",
    "LLM_RUNS",
    "NOTICES",
    "PAGES",
    "PAGE_CHANGES",
    "PAGE_FACTS",
    "PAGE_LINKS",
    "PAGE_SIGNALS",
    "PAGE_TAGS",
    "PAGE_TYPES",
    "REPEAT_ANSWERS",
    "REVIEW_ITEMS",
    "REVISION_CHECKS",
    "RULE_CLASSIFICATIONS",
    "RUN_TAGS",
    "SEED_TITLES",
    "SITES",
    "TAGS",
    "TAG_RELATIONS",
    "UNREAD_PAGES",
]
