"""Asset checks: they report quality; what must hold is checked before a write."""
