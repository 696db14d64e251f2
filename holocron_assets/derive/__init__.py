"""Derivations by a language model: interrogations, their evidence, the engine that asks, and what it keeps."""
