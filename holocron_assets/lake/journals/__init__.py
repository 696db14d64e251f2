"""Journals: records of long work that survive a kill."""
