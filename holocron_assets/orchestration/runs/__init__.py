"""Runs: requested, waited for, ended, and tried again."""
