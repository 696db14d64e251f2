"""Entities: which pages and mentions are one thing, and what is held of it."""
