"""Derivations by a language model: interrogations, their evidence, the engine, and the kept results."""
