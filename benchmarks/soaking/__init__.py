"""A soak: a whole Holocron left alone with a wiki that changes, while things go wrong at random."""
