"""Resources: what assets are handed, as plain objects of the rooms."""
