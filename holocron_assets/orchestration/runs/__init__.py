"""Runs: asked for, waited for, ended, and tried again."""
