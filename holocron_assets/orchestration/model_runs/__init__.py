"""Runs that ask models, as assets and dispatcher know them."""
