"""The stages of the knowledge base, in the order in which they depend on each other.

What a source's own pages teach comes first, then stages by entity type. Identity is decided only inside a
type, so each stage is made for all types before the next one begins. When a page gets another type, one
type gives it up, and another takes it. The stage of departures records that before anything is compared, so
that the order of the types does not matter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holocron_assets.classify.learned.proposals import PROPOSALS_VERSION, stale_type_proposals
from holocron_assets.classify.learned.store import (
    LEARNED_VERSION,
    stale_type_models,
    stale_type_predictions,
)
from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.entities.departures import DEPARTURES_VERSION, stale_departures
from holocron_assets.entities.facts.model_tables import CHECKS, LISTED, SENTENCES
from holocron_assets.entities.facts.model_tables import FACTS as MODEL_FACTS
from holocron_assets.entities.facts.model_tables import RELATIONS as MODEL_RELATIONS
from holocron_assets.entities.facts.store import (
    FACTS_VERSION,
    stale_facts,
    stale_relations,
)
from holocron_assets.entities.identity.judgement_store import (
    CHECKS_NAME,
    JUDGEMENTS_VERSION,
    stale_judgements,
)
from holocron_assets.entities.identity.pair_store import PAIRS_VERSION, stale_pairs
from holocron_assets.entities.mentions.store import MENTIONS_VERSION, stale_mentions
from holocron_assets.entities.snapshot import Snapshot
from holocron_assets.entities.store import (
    ALIASES_VERSION,
    ENTITIES_VERSION,
    stale_aliases,
    stale_entities,
)
from holocron_assets.entities.tags.store import (
    TAGS_VERSION,
    stale_entity_tags,
    stale_tag_relations,
    stale_tags,
)
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_ALIASES,
    ENTITY_CANDIDATES,
    ENTITY_DEPARTURES,
    ENTITY_FACTS,
    ENTITY_JUDGEMENTS,
    ENTITY_MENTIONS,
    ENTITY_PAIRS,
    ENTITY_RELATIONS,
    ENTITY_TAGS,
    PAGE_FACTS,
    PAGE_LINKS,
    PAGE_SIGNALS,
    PAGE_TAGS,
    PAGE_TYPES,
    PAGES,
    REVIEW_ITEMS,
    RULE_CLASSIFICATIONS,
    SITES,
    TAG_RELATIONS,
    TAGS,
    TYPE_MODEL,
    TYPE_PREDICTIONS,
    TYPE_PROPOSALS,
)
from holocron_assets.lake.tables.classify import MODEL_TABLE, TEMPLATE_TABLE
from holocron_assets.lake.tables.identity import EXTRACTION, LINKED
from holocron_assets.review.store import REVIEW_VERSION, stale_review
from holocron_assets.settings import tags_file

TYPES = sorted(load_taxonomy().entity_worthy_types)
"""The entity types: the partitions of all stages inside one type."""


@dataclass(frozen=True)
class Stage:
    """One table of the knowledge base, and when its partitions are made.

    Attributes:
        table: the table.
        group: the asset group that shows it.
        code_version: version of the code that makes it.
        inputs: tables that it is made from, partitioned as it is.
        whole_inputs: tables that it is made from, with all their partitions.
        stale: finds the stale ones of some partitions.
    """

    table: Table
    group: str
    code_version: str
    inputs: tuple[str, ...]
    whole_inputs: tuple[str, ...]
    stale: Callable[[Snapshot, Sequence[str]], list[str]]

    @property
    def name(self) -> str:
        """The name of the table, and of the asset."""
        return self.table.name


LEARNED: tuple[Stage, ...] = (
    Stage(
        TYPE_MODEL,
        "classification",
        LEARNED_VERSION,
        inputs=(),
        whole_inputs=(PAGES.name, PAGE_LINKS.name, PAGE_SIGNALS.name, RULE_CLASSIFICATIONS.name, MODEL_TABLE),
        stale=lambda snapshot, names: stale_type_models(snapshot.lake, names),
    ),
    Stage(
        TYPE_PREDICTIONS,
        "classification",
        LEARNED_VERSION,
        inputs=(TYPE_MODEL.name,),
        whole_inputs=(PAGES.name, PAGE_LINKS.name, PAGE_SIGNALS.name, RULE_CLASSIFICATIONS.name),
        stale=lambda snapshot, names: stale_type_predictions(snapshot.lake, names),
    ),
)
"""Stages by source, of what a source's own settled pages teach. They come first: types follow from them."""

BY_TYPE: tuple[Stage, ...] = (
    Stage(
        ENTITY_MENTIONS,
        "entities",
        MENTIONS_VERSION,
        inputs=(),
        whole_inputs=(EXTRACTION, LINKED, PAGE_LINKS.name, PAGE_SIGNALS.name, ENTITY_CANDIDATES.name),
        stale=stale_mentions,
    ),
    Stage(
        ENTITY_DEPARTURES,
        "entities",
        DEPARTURES_VERSION,
        inputs=(),
        whole_inputs=(PAGE_TYPES.name, ENTITY_CANDIDATES.name),
        stale=stale_departures,
    ),
    Stage(
        ENTITY_PAIRS,
        "entities",
        PAIRS_VERSION,
        inputs=(ENTITY_MENTIONS.name,),
        whole_inputs=(ENTITY_CANDIDATES.name, ENTITY_DEPARTURES.name, PAGE_SIGNALS.name, PAGE_FACTS.name),
        stale=stale_pairs,
    ),
    Stage(
        ENTITY_JUDGEMENTS,
        "entities",
        JUDGEMENTS_VERSION,
        inputs=(ENTITY_PAIRS.name, CHECKS_NAME),
        whole_inputs=(ENTITY_DEPARTURES.name,),
        stale=stale_judgements,
    ),
    Stage(
        ENTITIES,
        "entities",
        ENTITIES_VERSION,
        inputs=(ENTITY_MENTIONS.name, ENTITY_JUDGEMENTS.name),
        whole_inputs=(ENTITY_CANDIDATES.name, ENTITY_DEPARTURES.name),
        stale=stale_entities,
    ),
    Stage(
        ENTITY_ALIASES,
        "entities",
        ALIASES_VERSION,
        inputs=(ENTITIES.name, ENTITY_MENTIONS.name),
        whole_inputs=(PAGE_SIGNALS.name, PAGE_FACTS.name),
        stale=stale_aliases,
    ),
    Stage(
        ENTITY_FACTS,
        "entities",
        FACTS_VERSION,
        inputs=(ENTITIES.name, ENTITY_MENTIONS.name),
        whole_inputs=(PAGE_FACTS.name, MODEL_FACTS, LISTED, SENTENCES, CHECKS),
        stale=stale_facts,
    ),
    Stage(
        ENTITY_RELATIONS,
        "entities",
        FACTS_VERSION,
        inputs=(ENTITIES.name, ENTITY_ALIASES.name),
        whole_inputs=(PAGE_FACTS.name, PAGE_LINKS.name, MODEL_RELATIONS, SENTENCES, CHECKS),
        stale=stale_relations,
    ),
    Stage(
        ENTITY_TAGS,
        "tags",
        TAGS_VERSION,
        inputs=(ENTITIES.name,),
        whole_inputs=(PAGE_TAGS.name,),
        stale=lambda snapshot, names: stale_entity_tags(snapshot, names, tags_file()),
    ),
)
"""Stages by entity type: mentions, identity, and statements about entities."""

BY_SOURCE: tuple[Stage, ...] = (
    Stage(
        TAGS,
        "tags",
        TAGS_VERSION,
        inputs=(),
        whole_inputs=(PAGE_TAGS.name, PAGE_SIGNALS.name),
        stale=lambda snapshot, names: stale_tags(snapshot, names, tags_file()),
    ),
    Stage(
        TAG_RELATIONS,
        "tags",
        TAGS_VERSION,
        inputs=(),
        whole_inputs=(PAGE_TAGS.name, PAGE_SIGNALS.name),
        stale=lambda snapshot, names: stale_tag_relations(snapshot, names, tags_file()),
    ),
    Stage(
        TYPE_PROPOSALS,
        "classification",
        PROPOSALS_VERSION,
        inputs=(SITES.name, TYPE_PREDICTIONS.name),
        whole_inputs=(PAGES.name, PAGE_SIGNALS.name, PAGE_TYPES.name, TEMPLATE_TABLE),
        stale=lambda snapshot, names: stale_type_proposals(snapshot.lake, names),
    ),
    Stage(
        REVIEW_ITEMS,
        "review",
        REVIEW_VERSION,
        inputs=(TYPE_PROPOSALS.name,),
        whole_inputs=(
            *(PAGE_SIGNALS.name, PAGE_TYPES.name, ENTITY_JUDGEMENTS.name, ENTITIES.name),
            *(ENTITY_FACTS.name, ENTITY_RELATIONS.name),
        ),
        stale=lambda snapshot, names: stale_review(snapshot.lake, names),
    ),
)
"""Stages by source: what follows from those."""

STAGES = (*LEARNED, *BY_TYPE, *BY_SOURCE)

LEARNED_TABLES = (PAGES, PAGE_SIGNALS, RULE_CLASSIFICATIONS, *(stage.table for stage in LEARNED))
"""The tables that the learned stages read or make, besides models' answers."""

ENTITY_TABLES = (
    *(SITES, PAGES, PAGE_LINKS, PAGE_SIGNALS, PAGE_TYPES, PAGE_FACTS, PAGE_TAGS, ENTITY_CANDIDATES),
    *(stage.table for stage in BY_TYPE),
)
"""The same of the stages by entity type."""

SOURCE_TABLES = tuple(stage.table for stage in (*LEARNED, *BY_SOURCE))
"""The same of the stages by source. These also read `ENTITY_TABLES`."""


def partitions_of(lake: Lake, stage: Stage) -> Sequence[str]:
    """The partitions that a stage may have."""
    return TYPES if stage in BY_TYPE else lake.partitions(SITES)


def stale_partitions(snapshot: Snapshot, stages: Sequence[Stage]) -> dict[str, list[str]]:
    """Stale partitions of some stages by table, without those that have none."""
    found = {stage.name: stage.stale(snapshot, partitions_of(snapshot.lake, stage)) for stage in stages}
    return {name: stale for name, stale in found.items() if stale}
