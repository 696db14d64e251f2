"""Pages of docs and pictures that are written from the definitions."""
