"""Backups of a running Holocron: the lake, Dagster's history and the settings; and how to restore them."""
