"""The tables of what people are told: notices to webhooks, and alerts."""

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
    description="Something to be told, for each webhook that wants it, and what became of telling it",
    key=("notice_id", "webhook", "asked_at"),
    partition_column="day",
    columns=(
        Column("day", type_string, "Day on which it was noted, in UTC: day-YYYYMMDD"),
        Column(
            "notice_id",
            type_string,
            "Of a run its id; else made of what it is about. Sent as `webhook-id`: who gets it twice "
            "knows it by that",
        ),
        Column(
            "event",
            type_string,
            "'run.success', 'run.failure', 'dead_letter', 'alert.firing' or 'alert.resolved'",
        ),
        Column("webhook", type_string, "Who is told: a name in the webhooks' file; empty where nobody is"),
        Column("subject", type_string, "What it is about, for people: a job, a page, a rule"),
        Column("happened_at", type_time, "When it happened"),
        Column("asked_at", type_time, "When it was noted, or a person had it sent again"),
        Column("body", type_string, "What is sent, as JSON"),
        Column("state", type_string, "'pending', 'delivered', 'given up', or 'noted' where nobody is told"),
        Column("attempts", type_int, "How often it was sent, or could not be"),
        Column("tried_at", type_time, "When it was last sent", nullable=True),
        Column("due_at", type_time, "When it is sent again, if it failed", nullable=True),
        Column("status", type_int, "HTTP status of the last answer; empty where none came", nullable=True),
        Column("error", type_string, "Why it was not delivered the last time", nullable=True),
        Column(
            "late_tries",
            type_int,
            "How often its webhook was tried in vain after the three days; at the fourth it is given up",
            nullable=True,
            added=True,
        ),
    ),
)

ALERTS = Table(
    name="alerts",
    layer="operations",
    description="Something that a rule found amiss, or did before; one row a rule and subject, the newest",
    key=("rule", "subject"),
    columns=(
        Column("rule", type_string, "The rule in the alerts' file"),
        Column("subject", type_string, "What is amiss: a stage, with its source or interrogation"),
        Column("state", type_string, "'firing' or 'resolved'"),
        Column("value", type_float, "What was measured when it last was amiss"),
        Column("limit", type_float, "What would still have been well"),
        Column("message", type_string, "What is amiss, in a sentence"),
        Column("fired_at", type_time, "Since when"),
        Column("content_since", type_time, "Since when the rule finds nothing amiss any more", nullable=True),
        Column("resolved_at", type_time, "When it was over", nullable=True),
    ),
)
