"""Tables of what people hold back, rank and tag, of groups of work, and of tracebacks of failures."""

from holocron_assets.lake.declaration.schema import Column, Table, type_int, type_string, type_time

CONTROLS = Table(
    name="controls",
    layer="operations",
    description="What a person held back, resumed or ranked; never changed, a scope's newest row counts",
    key=("control_id",),
    columns=(
        Column("control_id", type_string, "Unique id; sorts by time"),
        Column(
            "action",
            type_string,
            "'pause' (start nothing, and stop what is under way), 'drain' (start nothing, and finish what is "
            "under way), 'resume', or 'prioritize' (`priority` counts)",
        ),
        Column("scope", type_string, "What it is about: 'all', 'source' or 'interrogation'"),
        Column("name", type_string, "The source or interrogation; empty for 'all'", nullable=True),
        Column(
            "priority",
            type_int,
            "For 'prioritize': higher is sooner; empty if the files' priority counts again",
            nullable=True,
        ),
        Column("author", type_string, "Who set it"),
        Column("reason", type_string, "Why"),
        Column("said_at", type_time, "When"),
    ),
)
"""Work that people hold back; see `operations.controls`."""


GROUP_STEPS = Table(
    name="group_steps",
    layer="operations",
    description="A step of one run of a group of work, and its outcome",
    key=("step",),
    partition_column="group_run_id",
    columns=(
        Column("group_run_id", type_string, "NAME-NUMBER of the group's run"),
        Column("group_name", type_string, "The group's name, which is that of its file"),
        Column("definition", type_string, "Hash of the group's file: a changed file begins another run"),
        Column("position", type_int, "Place of the step, from 1"),
        Column("step", type_string, "The step's name"),
        Column("command", type_string, "What it runs, after `holocron`"),
        Column(
            "status",
            type_string,
            "'waiting', 'started', 'done' or 'failed'; 'skipped' or 'canceled' if one before it failed "
            "(earlier versions wrote 'stopped' for 'canceled')",
        ),
        Column("exit_code", type_int, "Exit code of the command; empty before its end", nullable=True),
        Column("started_at", type_time, "When it was last started", nullable=True),
        Column("ended_at", type_time, "When it ended", nullable=True),
    ),
)
"""Steps of groups; see `operations.groups`."""

RUN_TAGS = Table(
    name="run_tags",
    layer="operations",
    description="A tag that a person gave a run. Rows name the run that made them, and are found by it",
    key=("key",),
    columns=(
        Column("run_id", type_string, "The run"),
        Column("job", type_string, "Its job"),
        Column("key", type_string, "The tag's key"),
        Column("value", type_string, "The tag's value"),
    ),
)
"""People's tags of runs; see `operations.run_tags`."""

TRACEBACKS = Table(
    name="tracebacks",
    layer="operations",
    description="Python's traceback of a failure, beside the row that says in one line what went wrong",
    key=("stage", "item"),
    partition_column="scope",
    columns=(
        Column("scope", type_string, "Partition of the row that has the error; the partition of this table"),
        Column(
            "stage",
            type_string,
            "'pages', the table whose step could not read the page, the interrogation, or 'files'",
        ),
        Column(
            "item",
            type_string,
            "Title key of the page, `item_id` of the interrogation's item, or `artifact_key` of the file",
        ),
        Column("traceback", type_string, "The traceback, without secrets; of a long one only the end"),
        Column("failed_at", type_time, "When it failed"),
    ),
)
"""Tracebacks; see `lake.tracebacks`."""
