"""The logs of people's decisions, pauses, priorities and requeues, with one way to write and to read."""
