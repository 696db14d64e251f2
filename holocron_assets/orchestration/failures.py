"""Which errors end an op at once, and which are worth its retries."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from holocron_assets.crawl.batches import NoManifestError
from holocron_assets.crawl.errors import PermanentError, WikiUnavailable
from holocron_assets.crawl.source_files import SourceError
from holocron_assets.crawl.xml_dump import DumpError
from holocron_assets.lake.parquet import DamagedPartitionError, MissingPartitionError
from holocron_assets.lake.paths import PartitionNameError
from holocron_assets.lake.schema import SchemaError
from holocron_assets.lake.titles import InvalidTitle
from holocron_assets.resolve.promotion import PolicyError

_PERMANENT = (
    DamagedPartitionError,
    DumpError,
    InvalidTitle,
    MissingPartitionError,
    NoManifestError,
    PartitionNameError,
    PermanentError,
    PolicyError,
    SchemaError,
    SourceError,
)

RETRIES = dg.RetryPolicy(max_retries=2, delay=2, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS)
"""Of every op: infrastructure only, and at most 10 s in all, since a waiting op holds its slots."""


DUE_AT = "due_at"
"""Key of a failure's metadata: from when on the same may work."""


@contextmanager
def clear_failures() -> Iterator[None]:
    """Turn errors that the op's retries cannot mend into a Failure that names them.

    What is wrong for good is not tried again. A wiki that is to be left alone longer than an op may wait ends
    the run too: a waiting run would hold its slot.
    """
    try:
        yield
    except _PERMANENT as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
    except WikiUnavailable as error:
        due = {DUE_AT: dg.MetadataValue.timestamp(error.due_at)}
        raise dg.Failure(description=str(error), metadata=due, allow_retries=False) from error
