"""Files of the lake: they are written whole or not at all, and readers notice damage."""
