"""Interrogations as data: what is asked, of which pages, and what the answers become."""
