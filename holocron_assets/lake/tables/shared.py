"""Columns that several tables share."""

from holocron_assets.lake.declaration.schema import Column, type_int, type_string

SOURCE = Column("source", type_string, "Name of the source, as in its YAML file")
BATCH = Column("batch", type_string, "Batch (partition) that the page was fetched in")
TITLE = Column("title", type_string, "Canonical page title, with its namespace prefix")
TITLE_KEY = Column("title_key", type_int, "Signed 64-bit xxhash of source and title")
NAMESPACE = Column("namespace", type_int, "MediaWiki namespace number; 0 is articles")
PAGE_ID = Column("page_id", type_int, "MediaWiki page id", nullable=True)
REVISION_ID = Column("revision_id", type_int, "Revision that this row was read from", nullable=True)
RUN_ID = Column("run_id", type_string, "Dagster run that made this row", provenance=True)
