"""Names of jobs, and of the tags that limits and sensors go by. Other tools rely on them."""

BATCH_JOB = "crawl_batch"
SETTLE_JOB = "settle_batch"
SEEDS_JOB = "list_seeds"
ENTITIES_JOB = "resolve_entities"
QUALITY_JOB = "check_quality"
REFRESH_JOB = "refresh"
ADD_PAGES_JOB = "add_pages"

HOST_TAG = "holocron/host"
WORK_TAG = "holocron/work"
SOURCE_TAG = "holocron/source"
PARTITION_TAG = "dagster/partition"
