"""The search index: a full-text index and arrays of vectors, made from the lake a batch at a time."""
