"""A wiki on loopback for benchmarks: invented pages, and a server that answers as MediaWiki's API does."""
