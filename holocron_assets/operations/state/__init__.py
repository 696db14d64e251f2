"""The state of everything, from one snapshot: status, health, metrics, plots."""
