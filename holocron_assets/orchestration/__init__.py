"""Holocron's work in Dagster's concepts."""
