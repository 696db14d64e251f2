"""The base of what YAML files and requests are read into."""

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """A model that never changes and takes no unknown key.

    It is compiled when it is first used. Each process imports hundreds of them, and uses few.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
