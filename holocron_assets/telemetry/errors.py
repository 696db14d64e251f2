"""What can be wrong with what is asked of logs and traces."""

from holocron_assets.errors import HolocronError


class ObserveError(HolocronError, ValueError):
    """The environment asks for logs or traces that there are not; the message names the variable."""
