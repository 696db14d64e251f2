"""How a model is asked: calls, tries, replies, and whose fault a failure is."""
