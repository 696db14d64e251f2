"""What a page says, read from its wikitext without judging its subject."""
