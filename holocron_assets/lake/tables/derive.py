"""Tables of the LLM half: the outcome of each item, each call and each GPU run.

The tables `derived_NAME` are declared by the interrogations themselves: see `derive/interrogations/`.
"""

from holocron_assets.lake.declaration.schema import (
    Column,
    Table,
    type_float,
    type_int,
    type_string,
    type_time,
)
from holocron_assets.lake.tables.shared import RUN_ID

SCOPE = Column("scope", type_string, "INTERROGATION-PARTITION; the partition of this table")
INTERROGATION = Column(
    "interrogation", type_string, "Name of the interrogation; NAME_shadow_VERSION of a shadow"
)
PARTITION = Column("partition", type_string, "Batch, or entity type for pairs, that the item belongs to")
ITEM_ID = Column(
    "item_id", type_string, "What was asked about: title key, '#' and chunk; or both ids of a pair"
)
SUBJECT = Column("subject", type_string, "What was asked about, for people: a title, or two names")
RESULT_KEY = Column(
    "result_key",
    type_string,
    "Hash of evidence, prompt, schema, model digest and options: same key, same answer",
)
MODEL = Column("model", type_string, "Model as the server calls it")
MODEL_DIGEST = Column("model_digest", type_string, "SHA-256 of the model, by the server")
TOKENS_IN = Column("tokens_in", type_int, "Tokens read; of all calls")
TOKENS_OUT = Column("tokens_out", type_int, "Tokens written; of all calls")
LOAD_MS = Column("load_ms", type_float, "Milliseconds of loading the model, by the server")
PROMPT_MS = Column("prompt_ms", type_float, "Milliseconds of reading the prompt, by the server")
GENERATION_MS = Column("generation_ms", type_float, "Milliseconds of writing the answer, by the server")
TOTAL_MS = Column("total_ms", type_float, "Milliseconds from sending to the answer's end, by our clock")
PARSE_STRATEGY = Column(
    "parse_strategy",
    type_string,
    "How the reply was read: 'direct', 'trimmed', 'fenced' or 'repaired'",
    nullable=True,
)

LLM_RUNS = Table(
    name="llm_runs",
    layer="derive",
    description="The outcome of one item of an interrogation: its answer and cost, or why there is none",
    key=("item_id",),
    partition_column="scope",
    columns=(
        SCOPE,
        INTERROGATION,
        PARTITION,
        ITEM_ID,
        Column("source", type_string, "Name of the source; of a pair's first entity", nullable=True),
        SUBJECT,
        RESULT_KEY,
        Column("prompt_version", type_string, "Hash of prompts, examples and evidence rules"),
        Column(
            "evidence_hash",
            type_string,
            "Hash of the evidence that a model read, redacted; for code, of no text",
        ),
        MODEL,
        MODEL_DIGEST,
        Column("status", type_string, "'ok', 'failed' (will be tried again) or 'dead'"),
        PARSE_STRATEGY,
        Column("attempts", type_int, "Attempts so far, including crashes"),
        Column("calls", type_int, "Calls made in all attempts; 0 if another batch's answer was used"),
        TOKENS_IN,
        TOKENS_OUT,
        LOAD_MS,
        PROMPT_MS,
        GENERATION_MS,
        TOTAL_MS,
        Column("unsupported", type_int, "Rows whose quoted evidence is not in the text"),
        Column("output", type_string, "The answer as JSON, validated", nullable=True),
        Column("error", type_string, "What went wrong, naming the item", nullable=True),
        Column("due_at", type_time, "When a failed item may be tried again", nullable=True),
        Column("finished_at", type_time, "When this outcome came"),
        RUN_ID,
        Column(
            "inputs_hash",
            type_string,
            "Hash of the answers of the interrogation's inputs about the item; empty without inputs",
            nullable=True,
            added=True,
        ),
    ),
)

LLM_ATTEMPTS = Table(
    name="llm_attempts",
    layer="derive",
    description="One call of a model",
    key=("call_id",),
    partition_column="scope",
    columns=(
        Column("call_id", type_string, "Unique id"),
        SCOPE,
        INTERROGATION,
        PARTITION,
        ITEM_ID,
        SUBJECT,
        RESULT_KEY,
        MODEL,
        MODEL_DIGEST,
        Column("attempt", type_int, "Attempt at the item, from 1"),
        Column("try", type_int, "Try within the attempt, from 1; each asks in another way"),
        Column("turn", type_string, "'question', 'follow_up', 'follow_up 2' and so on"),
        Column("tag", type_string, "Name of the experiment that asked; empty for work", nullable=True),
        Column("started_at", type_time, "When it was sent"),
        Column(
            "outcome",
            type_string,
            "'ok', 'malformed', 'invalid', 'truncated', 'overflow' (the prompt did not fit), 'timeout', "
            "'server_down', 'server_error', 'out_of_memory', 'model_missing', 'wrong_model' (another one "
            "answered) or 'refused' (no access)",
        ),
        PARSE_STRATEGY,
        Column("done_reason", type_string, "Why the model stopped, by the server", nullable=True),
        Column("tokens_estimated", type_int, "Our estimate of the prompt's tokens"),
        TOKENS_IN,
        TOKENS_OUT,
        LOAD_MS,
        PROMPT_MS,
        GENERATION_MS,
        TOTAL_MS,
        Column("error", type_string, "What went wrong", nullable=True),
        RUN_ID,
        Column(
            "decision",
            type_string,
            "What followed the answer, as JSON: step, condition, whether it holds, what was chosen and asked",
            nullable=True,
            added=True,
        ),
        Column(
            "machine",
            type_string,
            "Host name of the machine whose process asked; empty of older calls",
            nullable=True,
            added=True,
        ),
    ),
)

GPU_RUNS = Table(
    name="gpu_runs",
    layer="derive",
    description="A session of calls that one process made to one model",
    key=("gpu_run_id",),
    partition_column="gpu_run_id",
    columns=(
        Column("gpu_run_id", type_string, "Unique id; the partition of this table"),
        RUN_ID,
        MODEL,
        MODEL_DIGEST,
        Column("started_by", type_string, "'dispatch', 'person', 'local', 'ask', 'repeat' or 'try'"),
        Column("started_at", type_time, "When the first call was sent"),
        Column("ended_at", type_time, "When the last call was answered"),
        Column("loads", type_int, "Calls that made the server load the model"),
        Column("load_seconds", type_float, "Seconds of loading"),
        Column("busy_seconds", type_float, "Seconds in which at least one call was under way"),
        Column("busy_share", type_float, "Busy seconds over the seconds from the first call to the last"),
        Column("items", type_int, "Items that got an outcome"),
        Column("failed_items", type_int, "Of these, without an answer"),
        Column("calls", type_int, "Calls made"),
        Column("calls_saved", type_int, "Items of this run for which an earlier answer was used"),
        Column("tokens_in", type_int, "Tokens read"),
        Column("tokens_out", type_int, "Tokens written"),
        Column("interrogations", type_string, "Items by interrogation, as JSON"),
        Column("partitions_completed", type_int, "Partitions that became complete"),
        Column(
            "outcome",
            type_string,
            "'complete', 'partial' (some wait), 'stopped' (for another model, or out of time) or 'paused' "
            "(by a person)",
        ),
        Column("reason", type_string, "Why it ended"),
    ),
)

REPEAT_ANSWERS = Table(
    name="repeat_answers",
    layer="derive",
    description="A model's answer when the same question is asked several times: an experiment, not work",
    key=("partition", "item_id", "time"),
    partition_column="tag",
    columns=(
        Column("tag", type_string, "Name of the experiment; the partition of this table"),
        INTERROGATION,
        Column("version", type_int, "Version of the interrogation"),
        Column("prompt_version", type_string, "Hash of prompts, examples and evidence rules"),
        PARTITION,
        ITEM_ID,
        SUBJECT,
        Column("time", type_int, "Number of the repetition, from 1"),
        MODEL,
        MODEL_DIGEST,
        RESULT_KEY,
        Column(
            "output", type_string, "The answer as JSON, validated; empty if there was none", nullable=True
        ),
        Column("error", type_string, "Why there was none, naming the item", nullable=True),
        Column("answered_at", type_time, "When this outcome came"),
        Column(
            "seconds",
            type_float,
            "Seconds of all its calls, or of its function; empty of a query, which is asked for many at once",
            nullable=True,
            added=True,
        ),
    ),
)

TRIALS = Table(
    name="trials",
    layer="derive",
    description="What a new or changed interrogation answered about a sample, beside the answers that count",
    key=("tag",),
    partition_column="tag",
    columns=(
        Column("tag", type_string, "Name of the trial, and of its experiment in `repeat_answers`"),
        Column("interrogation", type_string, "Name of the interrogation that was tried"),
        Column("compared_with", type_string, "The one whose answers count now", nullable=True),
        Column("version", type_int, "Version of the one that was tried"),
        Column("prompt_version", type_string, "Hash of prompts, examples and evidence rules; or of its code"),
        Column("question", type_string, "The interrogation that was tried, as JSON"),
        MODEL,
        MODEL_DIGEST,
        Column("items", type_int, "Items that were asked about"),
        Column("tried_at", type_time, "When it was judged"),
        Column("report", type_string, "Items, rows and figures as `holocron try --json` prints them"),
    ),
)
