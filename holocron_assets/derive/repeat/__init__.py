"""How repeatable answers are: experiments, kept apart from work."""
