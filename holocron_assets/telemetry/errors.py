"""The error of wrong settings of logs and traces."""

from holocron_assets.errors import HolocronError


class ObserveError(HolocronError, ValueError):
    """The environment has a wrong setting of logs or traces; the message names the variable."""
