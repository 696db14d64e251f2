"""How other programs ask what is known: frames for notebooks, tools for assistants, reconciliation."""
