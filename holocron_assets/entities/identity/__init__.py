"""Identity: pairs of records, judgements of them, and the clusters that follow."""
