"""Retrieval: the passages of pages, the search index made of them, search, and answers with quotes."""
