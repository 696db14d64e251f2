"""The partitions: batches of pages, sources, and entity types. Never a page."""

import dagster as dg

from holocron_assets.planning.entity_stages import TYPES

BATCHES = dg.DynamicPartitionsDefinition(name="batches")
SOURCES = dg.DynamicPartitionsDefinition(name="sources")
ENTITY_TYPES = dg.StaticPartitionsDefinition(TYPES)
