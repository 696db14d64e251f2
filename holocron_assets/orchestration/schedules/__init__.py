"""Schedules: what is done by the clock."""
