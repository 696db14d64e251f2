"""Where models are asked: on this machine's GPU, which they share, or on another, which each has alone."""

from collections.abc import Callable

from holocron_assets.derive.dispatch.pools import DispatchError, DispatchSettings, read_dispatch_settings
from holocron_assets.derive.gpu.slots import place_of
from holocron_assets.settings import dispatch_file

Places = Callable[[str], str]
"""What only one process has at a time, by the model that is asked: see `place_of`."""


def configured_places() -> Places:
    """Places by the file that says how work is dispatched; if it cannot be used, all models share the GPU."""
    try:
        settings = read_dispatch_settings(dispatch_file())
    except DispatchError:
        settings = DispatchSettings()
    return lambda model: place_of(settings.pool_of(model), model)
