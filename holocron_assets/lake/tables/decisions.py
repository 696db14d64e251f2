"""People's decisions: one append-only table, from which all changes by people can be replayed."""

from holocron_assets.lake.declaration.schema import Column, Table, type_int, type_string, type_time

DECISIONS = Table(
    name="decisions",
    layer="decisions",
    description="What a person decided; never changed, only undone by another decision",
    key=("decision_id",),
    columns=(
        Column("decision_id", type_string, "Unique id; sorts by time. Those of one answer have one start"),
        Column(
            "kind",
            type_string,
            "'classify' (the page is of type `value`), 'template' or 'category' (articles with that infobox "
            "template or category are of type `value`), 'merge' (the entity is `other_id`), 'split' (it is "
            "not), "
            "'promote', 'suppress', 'accept' or 'reject' (the fact or relation `statement_id`), 'requeue' "
            "(what was given up about the page is tried again), 'ungroup' (the review items that have "
            "`value` in common are asked about one by one) or 'undo' (of the decision `undoes`)",
        ),
        Column("source", type_string, "Source of the page that it is about", nullable=True),
        Column(
            "title",
            type_string,
            "That page, template or category; for an entity, the page it was read from",
            nullable=True,
        ),
        Column("title_key", type_int, "Title key of that page", nullable=True),
        Column(
            "page_id",
            type_int,
            "For a type, id of that page when it was decided: the decision goes with the page when it moves. "
            "Empty if the wiki gives no ids",
            nullable=True,
            added=True,
        ),
        Column("entity_id", type_string, "The entity that it is about", nullable=True),
        Column(
            "other_id", type_string, "The other entity; for a merge, the one that it goes into", nullable=True
        ),
        Column("other_title", type_string, "Page that the other entity was read from", nullable=True),
        Column("statement_id", type_string, "The fact or relation that it is about", nullable=True),
        Column(
            "value",
            type_string,
            "The decided type; what the statement says, for people; or what review items have in common",
            nullable=True,
        ),
        Column("undoes", type_string, "The decision that is undone", nullable=True),
        Column("author", type_string, "Who decided"),
        Column("reason", type_string, "Why"),
        Column("decided_at", type_time, "When"),
    ),
)
