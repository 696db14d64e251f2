"""Where the lake lies, and whether it is still the one it was."""
