"""The log of what people say: decisions, pauses, priorities, requeues. One way to write it, one to read."""
