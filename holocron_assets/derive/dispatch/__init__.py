"""Which model works next: what waits in the lake, and the decision."""
