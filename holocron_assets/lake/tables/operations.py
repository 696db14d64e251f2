"""The table of what people hold back, and how they rank work."""

from holocron_assets.lake.schema import Column, Table, type_int, type_string, type_time

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
