"""Files of the lake: written whole or not at all, read with their damage noticed."""
