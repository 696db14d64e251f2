"""Exports of the knowledge base: the rows that count, their content hash, and files in four formats."""
