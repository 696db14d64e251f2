"""The errors that a person can act on: commands show their message alone."""

import duckdb

from holocron_assets.crawl.dumps.export import DumpError
from holocron_assets.crawl.sources.files import SourceError
from holocron_assets.decisions.controls import HeldBackError
from holocron_assets.decisions.log import DecisionError
from holocron_assets.derive.dispatch.pools import DispatchError
from holocron_assets.derive.engine.problems import ModelServerUnavailable
from holocron_assets.derive.interrogations.interrogation import InterrogationError
from holocron_assets.derive.server.errors import ModelFileError, ModelServerError, UnknownModelError
from holocron_assets.errors import PermanentError, TransientError
from holocron_assets.lake.files.parquet import DamagedPartitionError, MissingPartitionError
from holocron_assets.lake.place.presence import FolderGoneError
from holocron_assets.lake.titles import InvalidTitle
from holocron_assets.settings import SettingError
from holocron_assets.telemetry.errors import ObserveError

EXPECTED_ERRORS = (
    OSError,  # a folder that cannot be written, a disk that is full: it names the path
    PermanentError,
    TransientError,
    FolderGoneError,
    SourceError,
    DumpError,
    DamagedPartitionError,
    MissingPartitionError,
    InvalidTitle,
    InterrogationError,
    DispatchError,
    DecisionError,
    HeldBackError,
    ModelServerUnavailable,
    ModelFileError,
    ModelServerError,
    UnknownModelError,
    ObserveError,
    SettingError,
    duckdb.Error,
)
