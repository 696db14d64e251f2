"""Webhooks, as data: which events each receives, and how requests are signed.

The signature is that of Standard Webhooks (https://www.standardwebhooks.com), for which there are libraries
in every language.
"""

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from holocron_assets.crawl.http.client import is_address
from holocron_assets.lake.files.people_settings import Settings, SettingsError, read_settings

Event = Literal[
    "run.success",
    "run.failure",
    "run.canceled",
    "run.skipped",
    "dead_letter",
    "alert.firing",
    "alert.resolved",
]
EVENTS: tuple[Event, ...] = get_args(Event)
TEST_EVENT = "test"
"""Only `holocron webhooks test` sends it, also to webhooks that do not list it."""

_PREFIX = "whsec_"
_SHORTEST_SECRET, _LONGEST_SECRET = 24, 64
_LONGEST_SECONDS = 20  # a sensor's tick ends at 60 s

WebhookName = Annotated[StrictStr, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
SecretName = Annotated[StrictStr, Field(pattern=r"^[A-Z][A-Z0-9_]*(SECRET|KEY|TOKEN|PASSWORD)$")]
"""Values of variables with such names are masked wherever Holocron repeats other programs' output."""


class Webhook(Settings):
    """A receiver of notices.

    Attributes:
        url: where notices are sent.
        secret_env: name of the environment variable that holds the secret of the signature.
        events: the events that it wants.
        private: whether the url may lead to this machine or into a private network.
        timeout_seconds: how long an answer may take in all.
    """

    url: StrictStr
    secret_env: SecretName
    events: tuple[Event, ...] = Field(
        default=tuple(event for event in EVENTS if event != "run.success"), min_length=1
    )
    private: StrictBool = False
    timeout_seconds: StrictInt | StrictFloat = Field(default=10, gt=0, le=_LONGEST_SECONDS)

    @model_validator(mode="after")
    def _is_safe_to_send_to(self) -> Self:
        if not is_address(self.url):  # what was written is not repeated: it may hold a secret
            raise ValueError("url: must be like https://host/path, with a port from 1 to 65535 if with any")
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("url: must be like https://host/path")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError(
                "url: must hold no user, password, query or fragment; the signature says who sends"
            )
        if parts.scheme == "http" and not self.private:
            raise ValueError("url: must be https:// unless the host is of your own network (private: true)")
        return self

    @property
    def host(self) -> str:
        """The host that is connected to."""
        return urlsplit(self.url).hostname or ""

    def secret(self) -> bytes:
        """The secret that notices are signed with.

        Raises:
            SettingsError: the environment does not hold one; names the variable, and never its value.
        """
        held = os.environ.get(self.secret_env)
        if not held:
            raise SettingsError(f"the environment variable {self.secret_env} is not set")
        try:
            secret = base64.b64decode(held.removeprefix(_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            secret = b""
        if not (held.startswith(_PREFIX) and _SHORTEST_SECRET <= len(secret) <= _LONGEST_SECRET):
            raise SettingsError(
                f"the environment variable {self.secret_env} must hold {_PREFIX} and "
                f"{_SHORTEST_SECRET} to {_LONGEST_SECRET} bytes in base64"
            )
        return secret


class Webhooks(Settings):
    """The file.

    Attributes:
        webhooks: the receivers, by name.
    """

    webhooks: Mapping[WebhookName, Webhook] = Field(default_factory=dict)

    def wanting(self, event: Event) -> list[str]:
        """Names of the webhooks that want an event."""
        return [name for name, webhook in self.webhooks.items() if event in webhook.events]


def read_webhooks(file: Path) -> Webhooks:
    """The webhooks of a file; none where there is no file.

    Raises:
        SettingsError: the file cannot be used; names file, key and reason.
    """
    return read_settings(file, Webhooks)


def signed_headers(secret: bytes, notice_id: str, sent_at: int, body: bytes) -> dict[str, str]:
    """The headers of a notice.

    Args:
        secret: known to the receiver too.
        notice_id: the same at every try.
        sent_at: seconds since 1970.
        body: what is sent.
    """
    signed = f"{notice_id}.{sent_at}.".encode() + body
    signature = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    return {
        "Content-Type": "application/json",
        "webhook-id": notice_id,
        "webhook-timestamp": str(sent_at),
        "webhook-signature": f"v1,{signature}",
    }
