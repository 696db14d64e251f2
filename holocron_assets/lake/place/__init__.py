"""Where the lake is, and whether it is still the same lake."""
