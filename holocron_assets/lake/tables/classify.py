"""Tables of what a page is about: each method's answer, and the answer that counts."""

import pyarrow as pa

from holocron_assets.lake.declaration.schema import (
    Column,
    Table,
    type_bool,
    type_float,
    type_int,
    type_ints,
    type_string,
    type_strings,
)
from holocron_assets.lake.tables.shared import (
    BATCH,
    NAMESPACE,
    PAGE_ID,
    REVISION_ID,
    RUN_ID,
    SOURCE,
    TITLE,
    TITLE_KEY,
)

MODEL_TABLE = "derived_page_classification"
"""Name of the table of the interrogation that settles what rules do not."""

TEMPLATE_TABLE = "derived_template_types"
"""Name of the table of the interrogation about infobox templates."""

PRIMARY_TYPE = Column("primary_type", type_string, "One of the taxonomy's 15 types")
WEIGHTED_TYPES = Column(
    "types",
    pa.list_(pa.struct([("type", pa.string()), ("weight", pa.float64())])),
    "Every type with evidence for it, heaviest first; weights are between 0 and 1",
)
CONFIDENCE = Column("confidence", type_float, "Between 0 and 1; a page is settled at .80 and above")
NEEDS_REVIEW = Column("needs_review", type_bool, "Whether a model or a person should check it")
WORK_MEDIUM = Column("work_medium", type_string, "Medium of a WorkMedia page", nullable=True)
CANON_CONTEXT = Column(
    "canon_context", type_string, "'canon', 'legends', 'both' or 'unknown' of a WorkMedia page", nullable=True
)
RULE_IDS = Column("rule_ids", type_strings, "Rules that decided, strongest first")
METHOD = Column(
    "method", type_string, "Whose answer it is: 'rules', 'model', 'learned' (the learned model) or 'person'"
)
TAXONOMY_VERSION = Column("taxonomy_version", type_string, "Version of the 15 types")

RULE_CLASSIFICATIONS = Table(
    name="rule_classifications",
    layer="classify",
    description="What the rules say of one revision of a page",
    key=("title_key",),
    partition_column="batch",
    columns=(
        SOURCE,
        BATCH,
        TITLE,
        TITLE_KEY,
        REVISION_ID,
        Column("method", type_string, "'rules'"),
        PRIMARY_TYPE,
        WEIGHTED_TYPES,
        CONFIDENCE,
        NEEDS_REVIEW,
        WORK_MEDIUM,
        CANON_CONTEXT,
        RULE_IDS,
        Column(
            "evidence",
            pa.list_(
                pa.struct(
                    [
                        ("rule_id", pa.string()),
                        ("stage", pa.string()),
                        ("type", pa.string()),
                        ("confidence", pa.float64()),
                        ("reason", pa.string()),
                        ("matched", pa.string()),
                    ]
                )
            ),
            "Each rule that fired: its stage, its type, its confidence, its reason, and the matched text",
        ),
        TAXONOMY_VERSION,
        Column("rules_version", type_string, "Version of the rules", provenance=True),
    ),
)

PAGE_TYPES = Table(
    name="page_types",
    layer="classify",
    description="The type that counts for one revision of a page, merged from every method's answer",
    key=("title_key",),
    partition_column="batch",
    columns=(
        SOURCE,
        BATCH,
        TITLE,
        TITLE_KEY,
        NAMESPACE,
        PAGE_ID,
        REVISION_ID,
        PRIMARY_TYPE,
        WEIGHTED_TYPES,
        CONFIDENCE,
        METHOD,
        NEEDS_REVIEW,
        WORK_MEDIUM,
        CANON_CONTEXT,
        Column("rule_ids", type_strings, "Rules in favour of the type, strongest first"),
        Column("reason", type_string, "Why, in a sentence"),
        TAXONOMY_VERSION,
        Column("rules_type", type_string, "What the rules say", nullable=True, added=True),
        Column("rules_confidence", type_float, "How sure the rules are", nullable=True, added=True),
        Column("model", type_string, "The model that was asked, if one was", nullable=True, added=True),
        Column("model_type", type_string, "What the model says", nullable=True, added=True),
        Column(
            "model_confidence",
            type_float,
            "How sure the model says it is; not calibrated, not used",
            nullable=True,
            added=True,
        ),
        Column("learned_type", type_string, "What the learned model says", nullable=True, added=True),
        Column(
            "learned_probability",
            type_float,
            "How probable that type is, calibrated; below 0.8 it does not count",
            nullable=True,
            added=True,
        ),
        Column(
            "description",
            type_string,
            "What the page is about, in a model's sentence; only if the model's type counts",
            nullable=True,
            added=True,
        ),
        Column(
            "tags",
            type_strings,
            "A model's words to find the page by; only if the model's type counts",
            nullable=True,
            added=True,
        ),
        RUN_ID,
    ),
)

TYPE_MODEL = Table(
    name="type_model",
    layer="classify",
    description="What the learned model of a source knows: a feature of pages, and what it says of each type",
    key=("feature",),
    columns=(
        SOURCE,
        Column(
            "feature",
            type_string,
            "Kind and text, as in 'category: Moons'. Every page has 'any page'; the rows of 'a type that is "
            "known' and 'a page that is familiar' limit what the model answers",
        ),
        Column(
            "weights",
            pa.list_(pa.struct([("type", pa.string()), ("weight", pa.float64())])),
            "What the feature adds to the log-odds of each type that the model knows; calibrated",
        ),
    ),
)

TYPE_PREDICTIONS = Table(
    name="type_predictions",
    layer="classify",
    description="What the learned model of a source says of an article whose type the rules leave open",
    key=("title_key",),
    columns=(
        SOURCE,
        BATCH,
        TITLE,
        TITLE_KEY,
        REVISION_ID,
        Column("primary_type", type_string, "The most probable type"),
        Column("probability", type_float, "Of that type, between 0 and 1; calibrated on held-out pages"),
        Column("second_type", type_string, "The next type"),
        Column("second_probability", type_float, "Of that one"),
        Column("is_familiar", type_bool, "Whether the model knows pages of this sort; if not, it abstains"),
        Column("abstains", type_bool, "Whether the probability is too low for an answer"),
        Column(
            "reasons",
            pa.list_(pa.struct([("feature", pa.string()), ("weight", pa.float64())])),
            "The features that spoke most for the first type against the second (above 0), or against it",
        ),
        Column("model_version", type_string, "Content id of the partition of `type_model` that says so"),
    ),
)

TYPE_PROPOSALS = Table(
    name="type_proposals",
    layer="classify",
    description="An infobox template or category that open articles share, and what is known of its articles",
    key=("title_key",),
    columns=(
        SOURCE,
        Column("kind", type_string, "'template' or 'category'"),
        Column("title", type_string, "Its title, with the English name of its namespace"),
        Column("title_key", type_int, "Title key of it"),
        Column("pages", type_int, "Articles that have it"),
        Column("settles", type_int, "Open articles among them, which an answer would settle"),
        Column(
            "proposed_type",
            type_string,
            "The type that is proposed for all; empty if the evidence is not clear, and no model was asked",
            nullable=True,
        ),
        Column(
            "share",
            type_float,
            "How much speaks for the type with most evidence, between 0 and 1; empty if nothing is said",
            nullable=True,
        ),
        Column(
            "evidence",
            pa.list_(
                pa.struct(
                    [
                        ("type", pa.string()),
                        ("voice", pa.string()),
                        ("pages", pa.int64()),
                        ("weight", pa.float64()),
                    ]
                )
            ),
            "How many articles are of a type, by whom: the method that settled it, 'prediction' (of the "
            "learned model) or 'guess' (it settles nothing and weighs 0); weights sum confidences. 'asked' "
            "is a model that was asked about the template: one voice, and no article",
        ),
        Column("examples", type_strings, "Titles of some open articles"),
        Column("open_keys", type_ints, "Title keys of the open articles"),
    ),
)
