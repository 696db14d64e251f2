"""The evidence that a model reads: parts of pages and rows of the lake, cut to limits; and quotes from it."""
