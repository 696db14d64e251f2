"""The status of Holocron, notifications about it, backups, schedules and groups of work."""
