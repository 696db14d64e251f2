"""What a page says, read off its wikitext without judging what it is about."""
