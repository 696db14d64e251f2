"""Crawling: from a source file to the pages of a wiki, politely. A killed process loses nothing."""
