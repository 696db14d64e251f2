"""What a page is about: taxonomy, rules that read signals, and the merge into page types."""
