"""The two kinds of failure: what may work later, and what will not. Everything else derives from them."""


class TransientError(Exception):
    """It failed for now; the same may work later."""


class PermanentError(Exception):
    """It failed, and would fail again unchanged: a person has to look."""
