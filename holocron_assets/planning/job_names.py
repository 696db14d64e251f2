"""Names of jobs, and of the tags that limits and sensors use. Other tools rely on them."""

BATCH_JOB = "crawl_batch"
SETTLE_JOB = "settle_batch"
SITES_JOB = "ask_site"
SEEDS_JOB = "list_seeds"
ENTITIES_JOB = "resolve_entities"
SOURCES_JOB = "tag_and_review"
LEARN_JOB = "learn_types"
RECHECK_JOB = "recheck"
VIEWS_JOB = "publish_views"
SEARCH_JOB = "update_search"
UPKEEP_JOB = "upkeep"
COMPACTION_JOB = "compaction"
LINKS_JOB = "compact_links"
LIST_FILES_JOB = "list_files"
FILES_JOB = "fetch_files"
QUALITY_JOB = "check_quality"
REFRESH_JOB = "refresh"
ADD_PAGES_JOB = "add_pages"
GPU_JOB = "derive"
STATUS_JOB = "report_status"
GROUP_JOB = "run_group"

HOST_TAG = "holocron/host"
WORK_TAG = "holocron/work"
SOURCE_TAG = "holocron/source"
GROUP_TAG = "holocron/group"
PARTITION_TAG = "dagster/partition"
PARENT_TAG = "dagster/parent_run_id"
ROOT_TAG = "dagster/root_run_id"
PARTITIONS_TAG = "holocron/partitions"
PRIORITY_TAG = "dagster/priority"
GPU_MODEL_TAG = "holocron/gpu_model"
MODEL_TAG = "holocron/model"
MODEL_POOL_TAG = "holocron/model_pool"
PROGRESS_TAG = "holocron/progress"
OUTCOME_TAG = "holocron/outcome"
TRACE_TAG = "holocron/traceparent"
PAUSED = "paused"
"""The outcome in the tag when a person holds the work back."""

REPEATED = "repeated"
"""The outcome in the tag of a run that repeats another, until it has an outcome of its own."""

WHOLE_RUN_CHECK = "no_partition_failed"
"""The check that ends a run over several partitions, whose steps go on when a partition fails."""

WAITING_TAGS = {"holocron/waits": "true", "dagster/max_runtime": str(7 * 24 * 3600)}
"""Tags of jobs that wait for other runs: `dagster.yaml` allows two at once, so that others find a place.

Other runs end after six hours, but these may wait until a whole wiki is crawled.
"""

GROUP_JOB_TAGS = {**WAITING_TAGS, "holocron/runs_group": "true"}
"""Tags of the job that runs a group. `dagster.yaml` allows fewer groups than jobs that wait.

So a `refresh` that a step waits for finds a place. With an older `dagster.yaml`, a group counts only as a job
that waits, as before.
"""

TAGS = {
    HOST_TAG: "Host and port of the wiki that the run asks. Two runs per value at once, three of all.",
    SOURCE_TAG: "Source that the run's partition belongs to, or that alone it brings up to date.",
    GROUP_TAG: "Group of work whose schedule started the run.",
    WORK_TAG: "The work that the run is for: job, partition and version. Failures are counted by it.",
    PARTITION_TAG: "Partition of the run, by Dagster. One run per value at a time.",
    PARENT_TAG: "Run that this one retries, by Dagster, by a sensor or by a person.",
    ROOT_TAG: "First run of its chain of retries.",
    PARTITIONS_TAG: "Partitions that the run may make, with commas between, if it makes several. Dagster's "
    "own range only lets it resolve what steps read.",
    PRIORITY_TAG: "Priority of the run's source, if it has one: the highest leaves the queue first.",
    GPU_MODEL_TAG: "Model that the run asks on this machine's GPU. One run at a time, whatever the value.",
    MODEL_TAG: "Model that the run asks, in any pool.",
    MODEL_POOL_TAG: "Pool of the model that the run asks.",
    TRACE_TAG: "Span that asked for the run (W3C traceparent), where traces are on.",
    PROGRESS_TAG: "Work left when the run was requested: a run that changed nothing is tried again later.",
    OUTCOME_TAG: "'complete', 'partial', 'stopped' or 'paused': the outcome of the work of a run that asks a "
    "model. 'paused' also on other runs that ended because a person holds their work back, and "
    "'repeated' on those that repeat one, until they have an outcome.",
}
"""The tags of a run with their meaning."""
