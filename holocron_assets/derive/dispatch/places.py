"""Where models are asked: on this machine's GPU, which they share, or in a place of their own."""

from collections.abc import Callable

from holocron_assets.derive.dispatch.pools import DispatchError, DispatchSettings, read_dispatch_settings
from holocron_assets.derive.gpu.slots import place_of
from holocron_assets.settings import dispatch_file

Places = Callable[[str], str]
"""The place of a model, which one process has at a time: see `place_of`."""


def configured_places() -> Places:
    """Places as the dispatch file says; if that file cannot be used, all models share the GPU."""
    try:
        settings = read_dispatch_settings(dispatch_file())
    except DispatchError:
        settings = DispatchSettings()
    return lambda model: place_of(settings.pool_of(model), model)
