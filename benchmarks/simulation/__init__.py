"""A Holocron that lives faster than the clock on the wall: its daemon turned by hand, what grows."""
