"""Assets: what each step makes, with its partitions, policies and metadata."""
