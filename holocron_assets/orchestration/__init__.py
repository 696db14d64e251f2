"""Holocron's work as Dagster runs it, by Dagster's concepts."""
