"""Which model works next: the work that waits in the lake, and the decision."""
