"""The learned model: a wiki's settled pages teach it what the types of its other pages are."""
