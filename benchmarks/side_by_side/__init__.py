"""What Holocron costs beside a peer or a limit, measured in turns with it; and what was recorded of that."""
