"""Dagster: assets, partitions, jobs, sensors, checks and resources. Thin: the rooms do the work."""
