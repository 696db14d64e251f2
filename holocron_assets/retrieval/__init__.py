"""Retrieval: the passages of pages, the spaces that they are embedded in, the search index, search and answers."""
