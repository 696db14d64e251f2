"""Model files: known by their sha256, found or fetched once."""
