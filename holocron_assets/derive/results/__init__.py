"""Kept results: journals, answers by result key, tables, and the files about one item."""
