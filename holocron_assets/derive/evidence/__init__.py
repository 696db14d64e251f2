"""What a model reads: parts of pages and rows of the lake, cut to limits; and the quotes found in them."""
