"""`holocron run`: all the work in one process."""
