"""The infobox of a page: its template, fields and values."""
