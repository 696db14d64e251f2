"""How a table is declared, and what is derived from the declaration."""
