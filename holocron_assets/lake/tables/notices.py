"""The tables of what people are notified of: notices to webhooks, and alerts."""

from holocron_assets.lake.declaration.schema import (
    Column,
    Table,
    type_float,
    type_int,
    type_string,
    type_time,
)

NOTICES = Table(
    name="notices",
    layer="operations",
    description="A notice for one webhook, and what became of sending it",
    key=("notice_id", "webhook", "asked_at"),
    partition_column="day",
    columns=(
        Column("day", type_string, "Day on which it was recorded, in UTC: day-YYYYMMDD"),
        Column(
            "notice_id",
            type_string,
            "A run's id; for other events, made from their subject. Sent as `webhook-id`, so that a "
            "receiver notices a notice that comes twice",
        ),
        Column(
            "event",
            type_string,
            "'run.success', 'run.failure', 'run.canceled', 'run.skipped', 'dead_letter', 'alert.firing' or "
            "'alert.resolved'",
        ),
        Column("webhook", type_string, "Receiver: a name in the webhooks' file; empty if nobody is notified"),
        Column("subject", type_string, "What it is about, for people: a job, a page, a rule"),
        Column("happened_at", type_time, "When it happened"),
        Column("asked_at", type_time, "When it was recorded, or a person had it sent again"),
        Column("body", type_string, "The message that is sent, as JSON"),
        Column("state", type_string, "'pending', 'delivered', 'given up', or 'noted' if nobody is notified"),
        Column("attempts", type_int, "How often sending it was tried"),
        Column("tried_at", type_time, "When it was last sent", nullable=True),
        Column("due_at", type_time, "When it is sent again, if it failed", nullable=True),
        Column("status", type_int, "HTTP status of the last answer; empty if none came", nullable=True),
        Column("error", type_string, "Why the last delivery failed", nullable=True),
        Column(
            "late_tries",
            type_int,
            "How often sending failed after the three days; after the fourth failure it is given up",
            nullable=True,
            added=True,
        ),
    ),
)

ALERTS = Table(
    name="alerts",
    layer="operations",
    description="A problem that a rule finds now, or found before; the newest row of each rule and subject",
    key=("rule", "subject"),
    columns=(
        Column("rule", type_string, "The rule in the alerts' file"),
        Column("subject", type_string, "Where the problem is: a stage, with its source or interrogation"),
        Column("state", type_string, "'firing' or 'resolved'"),
        Column("value", type_float, "The measured value when the problem was last found"),
        Column("limit", type_float, "The largest or smallest value that is allowed"),
        Column("message", type_string, "The problem, in a sentence"),
        Column("fired_at", type_time, "Since when"),
        Column("content_since", type_time, "Since when the rule finds no problem any more", nullable=True),
        Column("resolved_at", type_time, "When it was over", nullable=True),
    ),
)
