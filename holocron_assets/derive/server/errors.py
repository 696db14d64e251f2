"""Errors about models. Each message says what to do, and can be shown to people as it is."""

from holocron_assets.errors import HolocronError, PermanentError


class UnknownModelError(HolocronError):
    """A model that the catalog does not have.

    Attributes:
        name: the name that was asked for.
    """

    def __init__(self, name: str, known: str) -> None:
        """Name the model, and those that there are."""
        super().__init__(
            f"model '{name}' not found: the embedded server has {known}. "
            "An Ollama that OLLAMA_HOST names may have others"
        )
        self.name = name


class ModelFileError(HolocronError):
    """A model file cannot be found or fetched, or has the wrong content."""


class ModelServerError(PermanentError):
    """No model server can be reached or started."""
