"""The errors that people read. Commands show them without a traceback, and runs end with their message."""


class HolocronError(Exception):
    """What went wrong, in words for the person who has to act on it."""


class TransientError(HolocronError):
    """It failed for now; the same may work later."""


class PermanentError(HolocronError):
    """It failed, and would fail again unchanged: a person has to look."""
