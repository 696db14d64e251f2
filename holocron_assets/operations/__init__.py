"""How the whole stands, what a person has held back, and who is told: operation, read from the lake."""
