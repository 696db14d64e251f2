"""How a model is asked: calls, tries, replies, and what is to blame for a failure."""
