"""The partitions: batches of pages, sources, and entity types. Never a page."""

import dagster as dg

from holocron_assets.classify.taxonomy import load_taxonomy

BATCHES = dg.DynamicPartitionsDefinition(name="batches")
SOURCES = dg.DynamicPartitionsDefinition(name="sources")
TYPES = sorted(load_taxonomy().entity_worthy_types)
"""The entity types."""
ENTITY_TYPES = dg.StaticPartitionsDefinition(TYPES)
