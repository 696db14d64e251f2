"""Processes that work unattended: daemon, web UI, code server, and their supervisor."""
