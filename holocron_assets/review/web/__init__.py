"""The web pages of the review queue and of entities, on loopback only."""
