"""The frontier: titles that are known and not fetched yet, and the batches that are cut from it."""
