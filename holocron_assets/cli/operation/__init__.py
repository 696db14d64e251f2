"""Commands that say how things stand, and keep copies."""
