"""Commands for what people decide: decisions, and what waits for them."""
