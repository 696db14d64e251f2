"""The embedded model server: it speaks Ollama's API on loopback."""
