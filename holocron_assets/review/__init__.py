"""The review queue: what people should decide, and what helps them to decide it."""
