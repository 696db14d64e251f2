"""Sends notices: each webhook has a thread of its own, so that none delays the others.

A notice is sent until an answer with a status of 2xx comes: again after 30 s, 2 min and then every 10 min,
for three days and four more tries, since this machine may have been off, and the receiver with it. While a
webhook is down, its other notices wait as long. A notice that the receiver refuses waits alone. If the file
does not name the webhook, the notice waits until it does: people comment entries out, and editors may write
a file in two steps.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import version
from time import monotonic

from holocron_assets.crawl.http.client import HttpClient
from holocron_assets.crawl.http.outcomes import HttpAnswer
from holocron_assets.lake.attempts import MAX_ATTEMPTS, delay_after, is_waiting
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.people_settings import SettingsError
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.operations.notifications.notifications import NoticeBook
from holocron_assets.operations.notifications.webhooks import Webhook, Webhooks, signed_headers
from holocron_assets.telemetry.context import carried
from holocron_assets.telemetry.logs import logger
from holocron_assets.telemetry.masking import without_secrets

GIVEN_UP_AFTER = timedelta(days=3)
"""Counted from when it was requested; `holocron webhooks resend` has it sent again."""

_SENDING_SECONDS = 15.0  # and the last answer takes 20 s at most: a sensor's tick ends at 60 s
_BODY_LIMIT = 64 * 1024  # bytes of an answer, of which only the status counts
_OK, _OVER_OK, _SERVER_ERROR = 200, 300, 500
_FOR_NOW = frozenset({408, 425, 429})
_SHOWN = 300
_LOG = logger(__name__)


@dataclass(frozen=True)
class Answer:
    """The result of sending a notice once.

    Attributes:
        status: HTTP status; None if none came.
        error: why it does not count as delivered; None if it does.
    """

    status: int | None
    error: str | None

    @property
    def is_receivers_fault(self) -> bool:
        """Whether any other notice would have failed, too."""
        return bool(self.error) and (
            self.status is None or self.status >= _SERVER_ERROR or self.status in _FOR_NOW
        )


def send(webhook: Webhook, notice_id: str, body: str) -> Answer:
    """Send a notice once. Redirects are not followed: they could lead to a place that no person chose."""
    with _client(webhook) as client:
        return _send(client, webhook, notice_id, body)


@dataclass
class _Sent:
    """The deliveries to one webhook in one pass."""

    delivered: int = 0
    failed: int = 0


def deliver(
    book: NoticeBook, webhooks: Webhooks, *, seconds: float = _SENDING_SECONDS
) -> Mapping[str, tuple[int, int]]:
    """Send the due notices, and record the results.

    Args:
        book: the notices.
        webhooks: the receivers.
        seconds: after so long, nothing more is sent now.

    Returns:
        By webhook, how many notices were delivered and how many were not.
    """
    now, deadline = utc_now(), monotonic() + seconds
    pending = book.pending()
    resting = _resting(book, now) if pending else set()
    due: dict[str, list[Row]] = {}
    for row in pending:
        name = row["webhook"]
        if name not in webhooks.webhooks:
            if _is_late(row, now):
                book.change(row, **_given_up("there is no such webhook any more"))
        elif name not in resting and not is_waiting(row["due_at"], now):
            due.setdefault(name, []).append(row)
    if not due:
        return {}
    sent = {name: _Sent() for name in due}
    with ThreadPoolExecutor(len(due), thread_name_prefix="webhook") as threads:
        serving = [
            threads.submit(
                carried(_serve),
                book,
                webhooks.webhooks[name],
                rows,
                sent[name],
                lambda: monotonic() < deadline,
            )
            for name, rows in due.items()
        ]
    for one in serving:
        one.result()
    return {name: (one.delivered, one.failed) for name, one in sent.items()}


def _resting(book: NoticeBook, now: datetime) -> set[str]:
    """Webhooks that are not asked now: they failed, and took nothing since."""
    return {
        name
        for name, (failures, tried_at) in book.failures_since_success().items()
        if is_waiting(tried_at + delay_after(failures), now)
    }


def _is_late(row: Row, now: datetime) -> bool:
    return bool(now - row["asked_at"] > GIVEN_UP_AFTER)


def _given_up(last: str) -> Row:
    return {
        "state": "given up",
        "error": f"not delivered within {GIVEN_UP_AFTER.days} days; at last: {last}",
    }


def _tried_late(row: Row, now: datetime, error: str) -> Row:
    """The change of a notice's state by a failed try: none before its three days are over."""
    if not _is_late(row, now):
        return {}
    tries = (row["late_tries"] or 0) + 1
    return {"late_tries": tries, **(_given_up(error) if tries >= MAX_ATTEMPTS else {})}


def _serve(
    book: NoticeBook, webhook: Webhook, rows: Sequence[Row], sent: _Sent, is_time: Callable[[], bool]
) -> None:
    """Send some notices one by one, new ones first, until the receiver fails."""
    with _client(webhook) as client:
        left = deque(sorted(rows, key=lambda one: (one["attempts"], one["asked_at"])))
        while left and is_time():
            row = left.popleft()
            answer = _send(client, webhook, row["notice_id"], row["body"])
            log = _LOG.warning if answer.error else _LOG.info
            log(
                "sent a notice",
                webhook=row["webhook"],
                notice_id=row["notice_id"],
                notice=row["event"],
                status=answer.status,
                error=answer.error,
            )
            now, attempts = utc_now(), row["attempts"] + 1
            what = {"attempts": attempts, "tried_at": now, "status": answer.status, "error": answer.error}
            if answer.error is None:
                book.change(row, **what, state="delivered", due_at=None)
                sent.delivered += 1
                continue
            what |= {"due_at": now + delay_after(attempts), **_tried_late(row, now, answer.error)}
            book.change(row, **what)
            sent.failed += 1
            if answer.is_receivers_fault:  # this counts as a try of each, or they would wait for ever
                late = [other for other in left if _is_late(other, now)]
                book.change_all({**other, **_tried_late(other, now, answer.error)} for other in late)
                return


def _send(client: HttpClient, webhook: Webhook, notice_id: str, text: str) -> Answer:
    body = text.encode()
    try:
        headers = signed_headers(webhook.secret(), notice_id, int(utc_now().timestamp()), body)
    except SettingsError as error:
        return Answer(None, str(error))
    try:
        answer = client.post(webhook.url, body, headers)
    except Exception as error:  # noqa: BLE001 - any error is a failed try, and the tick goes on
        cause = _innermost(error)
        return Answer(None, without_secrets(f"{type(cause).__name__}: {cause}")[:_SHOWN])
    return Answer(answer.status, _why_not(answer))


def _innermost(error: Exception) -> Exception:
    """The original error, where tasks of a library have wrapped it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _why_not(answer: HttpAnswer) -> str | None:
    """Why a notice did not arrive; None if it did. The answer's body does not count."""
    if answer.status is not None:
        return None if _OK <= answer.status < _OVER_OK else f"HTTP {answer.status}"
    reason = without_secrets(answer.error or "no answer")[:_SHOWN]
    if answer.private_host is not None:
        return f"{reason}. If that is meant to be, say private: true in the webhooks' file"
    return reason


def _client(webhook: Webhook) -> HttpClient:
    return HttpClient(
        f"Holocron/{version('holocron-assets')}",
        deadline_seconds=webhook.timeout_seconds,
        body_limit_bytes=_BODY_LIMIT,
        private_hosts=[webhook.host] if webhook.private else [],
    )
