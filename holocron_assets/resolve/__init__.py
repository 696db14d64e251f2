"""From typed pages to entities: candidates, identity, history, promotion and names. Rows in, rows out."""
