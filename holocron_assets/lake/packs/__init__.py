"""Packs: many old partitions in one file."""
