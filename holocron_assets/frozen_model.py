"""The base of what YAML files and requests are read into."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

StrictShare = Annotated[float, Field(strict=True, ge=0, le=1)]
"""A number from 0 to 1, such as a confidence; no text that looks like one."""


class FrozenModel(BaseModel):
    """A model that never changes and takes no unknown key.

    It is compiled when it is first used. Each process imports hundreds of them, and uses few.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
