"""The names of the jobs that answer interrogations: by the pool, and by the kind of partitions."""

from holocron_assets.derive.gpu.slots import GPU_POOL
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.planning.job_names import GPU_JOB


def is_by_type(interrogation: Interrogation) -> bool:
    """Whether an interrogation's partitions are entity types, and not batches."""
    return interrogation.table.partition_column == "entity_type"


def job_of(pool: str, *, by_type: bool) -> str:
    """The job that asks models of a pool, over batches or over entity types."""
    name = GPU_JOB if pool == GPU_POOL else f"{GPU_JOB}_{pool}"
    return f"{name}_by_type" if by_type else name


def job_name(pool: str, interrogation: Interrogation) -> str:
    """The job of a pool that makes the asset of an interrogation."""
    return job_of(pool, by_type=is_by_type(interrogation))
