"""How a model is asked: calls, tries, replies, and the causes of failures."""
