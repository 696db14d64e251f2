"""The knowledge base for others: what of it stands, its content hash, and files in four formats."""
