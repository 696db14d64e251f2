"""Names of entities, as written and as compared."""
