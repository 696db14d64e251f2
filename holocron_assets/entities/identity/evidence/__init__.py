"""What speaks for and against two records being one thing, beside the names that they share."""
