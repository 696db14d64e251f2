"""The embedded model server, which speaks Ollama's HTTP API, and the model files it serves."""
