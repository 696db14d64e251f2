"""The review queue: what people should decide, and all that helps to decide it."""
