"""The MediaWiki API: what is asked of it, and its answers as rows."""
