"""Which errors end a run at once, and which are worth the op's retries."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from holocron_assets.crawl.batches import NoManifestError
from holocron_assets.crawl.errors import PermanentError
from holocron_assets.crawl.source_files import SourceError
from holocron_assets.crawl.xml_dump import DumpError
from holocron_assets.lake.parquet import DamagedPartitionError, MissingPartitionError
from holocron_assets.lake.paths import PartitionNameError
from holocron_assets.lake.schema import SchemaError
from holocron_assets.lake.titles import InvalidTitle

_PERMANENT = (
    DamagedPartitionError,
    DumpError,
    InvalidTitle,
    MissingPartitionError,
    NoManifestError,
    PartitionNameError,
    PermanentError,
    SchemaError,
    SourceError,
)

RETRIES = dg.RetryPolicy(max_retries=2, delay=2, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS)
"""Of every op: infrastructure only, and at most 10 s in all, since a waiting op holds its slots."""


@contextmanager
def final_if_permanent() -> Iterator[None]:
    """Turn errors that a retry cannot mend into a Failure that is not retried."""
    try:
        yield
    except _PERMANENT as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
