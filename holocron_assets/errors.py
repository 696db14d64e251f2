"""The errors that people read. Commands show them without a traceback, and runs end with their message."""


class HolocronError(Exception):
    """An error whose message says what went wrong and what a person can do."""


class TransientError(HolocronError):
    """It failed for now; the same may work later."""


class PermanentError(HolocronError):
    """It failed, and would fail again unchanged: a person has to act."""
