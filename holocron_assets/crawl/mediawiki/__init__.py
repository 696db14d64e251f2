"""The MediaWiki API: requests to it, and its answers as rows."""
