"""The crawl: sources, politeness, the MediaWiki client, dumps, the frontier and its batches."""
