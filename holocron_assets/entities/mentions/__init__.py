"""Mentions: names on list pages, and what they mean."""
