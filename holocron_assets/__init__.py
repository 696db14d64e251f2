"""Holocron: a Dagster asset graph that turns a wiki into a knowledge base that people can trust."""
