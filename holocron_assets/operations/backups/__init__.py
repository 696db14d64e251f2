"""Backups of a Holocron that works: the lake, Dagster's history, the settings; and how they come back."""
