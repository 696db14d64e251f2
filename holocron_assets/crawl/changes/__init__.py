"""Finds what changed on a wiki since its pages were fetched."""
