"""Runs that ask models, for assets and dispatcher."""
