"""The partitions: batches of pages or files, sources, and entity types. Never a page."""

import dagster as dg

from holocron_assets.planning.entity_stages import TYPES

BATCHES = dg.DynamicPartitionsDefinition(name="batches")
SOURCES = dg.DynamicPartitionsDefinition(name="sources")
BATCHES_OF_FILES = dg.DynamicPartitionsDefinition(name="file_batches")
SOURCES_OF_FILES = dg.DynamicPartitionsDefinition(name="file_sources")
ENTITY_TYPES = dg.StaticPartitionsDefinition(TYPES)
