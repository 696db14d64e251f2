"""Entities: which pages and mentions are one thing, and what is known about it."""
