"""The error of wrong settings of logs and traces."""


class ObserveError(ValueError):
    """The environment has a wrong setting of logs or traces; the message names the variable."""
