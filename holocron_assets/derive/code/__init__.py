"""Interrogations that code answers instead of a model: one SELECT, or a Python function."""
