"""Dagster's storage in SQLite and in PostgreSQL: the same work on each, timed."""
