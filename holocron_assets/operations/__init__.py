"""How things stand, and what people are told of it."""
