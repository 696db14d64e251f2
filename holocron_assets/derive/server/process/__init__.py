"""Processes of loaded models: started, used and ended."""
