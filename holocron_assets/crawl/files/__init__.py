"""Files: what sources list becomes objects in the store, by their content. A killed process loses nothing."""
