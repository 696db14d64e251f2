"""Failures of a wiki as a whole, of two kinds: for now, and for good."""

from datetime import datetime

from holocron_assets.errors import PermanentError, TransientError


class WikiUnavailable(TransientError):  # noqa: N818 - named for what happened
    """A wiki gave no usable answer, and must be left alone for a while.

    Attributes:
        host: host and port of the wiki.
        reason: what it answered, or why it could not.
        due_at: when it may be asked again.
        outcome: the last answer's outcome, as in table `http_attempts`; None when nothing was sent.
    """

    def __init__(self, host: str, reason: str, due_at: datetime, outcome: str | None) -> None:
        """Say which host, why, and until when."""
        super().__init__(f"{host}: {reason}; may be asked again at {due_at.isoformat(timespec='seconds')}")
        self.host = host
        self.reason = reason
        self.due_at = due_at
        self.outcome = outcome


class HostBusy(WikiUnavailable):
    """A wiki was not asked at all: it is being left alone, or other processes of ours are asking it.

    Attributes:
        hindrance: why it was not asked (see `rules.Hindrance`).
    """

    def __init__(self, host: str, reason: str, due_at: datetime, hindrance: str) -> None:
        """Say which host, why, and until when."""
        super().__init__(host, reason, due_at, outcome=None)
        self.hindrance = hindrance


class WikiRefused(PermanentError):  # noqa: N818 - named for what happened
    """A wiki understood the request and will not answer it: the address, a parameter or a right is wrong.

    The request is at fault, not the pages asked for.

    Attributes:
        host: host and port of the wiki.
        reason: what it answered.
        outcome: the answer's outcome, as in table `http_attempts`.
    """

    def __init__(self, host: str, reason: str, outcome: str) -> None:
        """Say which host, and why."""
        super().__init__(f"{host}: {reason}")
        self.host = host
        self.reason = reason
        self.outcome = outcome
