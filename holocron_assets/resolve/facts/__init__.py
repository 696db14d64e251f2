"""Statements about entities: what infobox fields mean, when things were, and the tables of both."""
