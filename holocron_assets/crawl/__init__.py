"""Crawling: from a source file to the pages of a wiki, politely, whatever is killed on the way."""
