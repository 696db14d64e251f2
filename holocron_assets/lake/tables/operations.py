"""The table of what people hold back, and how they rank work."""

from holocron_assets.lake.declaration.schema import Column, Table, type_int, type_string, type_time

CONTROLS = Table(
    name="controls",
    layer="operations",
    description="What a person held back, let go on or ranked; never changed, a scope's newest counts",
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
            "Of 'prioritize': higher is sooner; empty where what files declare shall count again",
            nullable=True,
        ),
        Column("author", type_string, "Who said so"),
        Column("reason", type_string, "Why"),
        Column("said_at", type_time, "When"),
    ),
)
"""What is held back by people; see `operations.controls`."""


GROUP_STEPS = Table(
    name="group_steps",
    layer="operations",
    description="A step of one run of a group of work, and what became of it",
    key=("step",),
    partition_column="group_run_id",
    columns=(
        Column("group_run_id", type_string, "NAME-NUMBER of the group's run"),
        Column("group_name", type_string, "The group, as its file is called"),
        Column("definition", type_string, "Hash of what the group's file says: another file is another run"),
        Column("position", type_int, "Place of the step, from 1"),
        Column("step", type_string, "The step's name"),
        Column("command", type_string, "What it runs, after `holocron`"),
        Column(
            "status",
            type_string,
            "'waiting', 'started', 'done', 'failed', 'skipped' (what it needs failed) or 'stopped' (the "
            "group ended before it)",
        ),
        Column("exit_code", type_int, "Of the command, once it ended", nullable=True),
        Column("started_at", type_time, "When it was started last", nullable=True),
        Column("ended_at", type_time, "When it ended", nullable=True),
    ),
)
"""What groups did; see `operations.groups`."""

RUN_TAGS = Table(
    name="run_tags",
    layer="operations",
    description="A tag that a person gave a run. Rows name the run that made them: by it they are found",
    key=("key",),
    columns=(
        Column("run_id", type_string, "The run"),
        Column("job", type_string, "Its job"),
        Column("key", type_string, "The tag's key"),
        Column("value", type_string, "The tag's value"),
    ),
)
"""What people tagged runs with; see `operations.run_tags`."""
