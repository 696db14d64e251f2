"""Sensors: they read the lake and ask for runs."""
