"""Assets: the table of each step, with its partitions, policies and metadata."""
