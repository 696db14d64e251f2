"""What can be wrong with models. Each text says what to do, and can be shown to a person as it is."""


class UnknownModelError(Exception):
    """A model that the catalog does not have."""


class ModelFileError(Exception):
    """A model file that cannot be had, or is not the one it should be."""


class ModelServerError(Exception):
    """No model server can be had."""
