"""Politeness: when a host may be asked again, as pure decisions, and the state that processes share."""
