"""Mentions: what list pages name."""
