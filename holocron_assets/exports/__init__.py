"""The knowledge base for others: the rows that count, their content hash, and files in four formats."""
