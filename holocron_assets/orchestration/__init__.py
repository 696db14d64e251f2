"""Holocron's work as Dagster's assets, jobs, sensors, schedules and checks."""
