"""What a model is shown: parts of pages and rows of the lake, cut to limits, and quotes found again."""
