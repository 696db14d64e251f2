"""Explains in words why a page was fetched, has its type, is an entity and is asked about; or why not."""
