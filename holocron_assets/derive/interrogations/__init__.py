"""Interrogations as data: the question, the pages that it is about, and the table of the answers."""
