"""Schedules: work at set times."""
