"""What the job `resolve_entities` makes, in order."""

from collections.abc import Sequence

from holocron_assets.lake.paths import Lake
from holocron_assets.lake.tables import SITES
from holocron_assets.orchestration.alias_assets import ALIASES
from holocron_assets.orchestration.entity_assets import ENTITIES_STAGE
from holocron_assets.orchestration.fact_assets import FACTS, RELATIONS
from holocron_assets.orchestration.judgement_assets import JUDGEMENTS
from holocron_assets.orchestration.mention_assets import MENTIONS
from holocron_assets.orchestration.pair_assets import PAIRS
from holocron_assets.orchestration.partitions import TYPES
from holocron_assets.orchestration.review_assets import REVIEW
from holocron_assets.orchestration.stages import Stage
from holocron_assets.orchestration.tag_assets import ENTITY_TAGS_STAGE, TAG_RELATIONS_STAGE, TAGS_STAGE
from holocron_assets.resolve.look import Look

READ: tuple[Stage, ...] = (MENTIONS,)
"""By entity type: what is read off lists. Each stage for all types, before anybody is compared."""

IDENTITY: tuple[Stage, ...] = (PAIRS, JUDGEMENTS, ENTITIES_STAGE)
"""By entity type: who is who. All stages for one type, then for the next."""

TOLD: tuple[Stage, ...] = (ALIASES, FACTS, RELATIONS, ENTITY_TAGS_STAGE)
"""By entity type: what is told of entities of all types. Each stage for all types, then the next."""

BY_SOURCE: tuple[Stage, ...] = (TAGS_STAGE, TAG_RELATIONS_STAGE, REVIEW)
"""By source: what follows from all that."""


STAGES = (*READ, *IDENTITY, *TOLD, *BY_SOURCE)


def partitions_of(lake: Lake, stage: Stage) -> Sequence[str]:
    """The partitions that a stage may have."""
    return lake.partitions(SITES) if stage in BY_SOURCE else TYPES


def stale_stages(look: Look) -> dict[str, list[str]]:
    """Stale partitions by table, without those that have none."""
    found = {stage.table: stage.stale(look, partitions_of(look.lake, stage)) for stage in STAGES}
    return {table: names for table, names in found.items() if names}
