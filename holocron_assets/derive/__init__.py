"""Derivations by a language model: interrogations, their evidence, the engine, and what it keeps."""
