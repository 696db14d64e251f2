"""What a run is to ask models: one config for all of its steps."""

from collections.abc import Mapping
from typing import Any

import dagster as dg
from pydantic import Field

from holocron_assets.derive.dispatch.pools import CODE_POOL
from holocron_assets.derive.gpu.turns import Choice
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.interrogations.unread import refuse_broken
from holocron_assets.errors import PermanentError

RESOURCE = "what_to_ask"


class WhatToAsk(dg.ConfigurableResource["WhatToAsk"]):
    """What a run of a job `derive` is to ask. A key that is left out sets no limit."""

    model: str | None = Field(default=None, description="The model; by default the dispatcher's choice.")
    interrogations: list[str] | None = Field(default=None, description="Only these, by name.")
    partitions: list[str] | None = Field(default=None, description="Only these batches, or entity types.")
    pages: list[int] | None = Field(default=None, description="Only these pages, by title key.")
    items: int | None = Field(default=None, description="At most so many items of each interrogation.")

    def run_config(self) -> dict[str, Any]:
        """The run config for it."""
        config = {name: value for name, value in self.model_dump().items() if value is not None}
        return {"resources": {RESOURCE: {"config": config}}} if config else {}

    def asked(self) -> list[Interrogation]:
        """The interrogations that it names, or all."""
        known = load_interrogations()
        return [one for one in known if self.interrogations is None or one.name in self.interrogations]

    def choice(self) -> Choice:
        """Which items of them are asked about."""
        return Choice(None if self.pages is None else frozenset(self.pages), self.items)

    def named(self, pool: str) -> Mapping[str, Interrogation]:
        """The interrogations that may be asked by a step, by name: of code, or of models.

        Args:
            pool: of the step.

        Raises:
            PermanentError: a named one does not exist; the message names those that do.
            InterrogationError: a named one cannot be used.
        """
        for name in self.interrogations or ():
            refuse_broken(name)
        found = {one.name: one for one in load_interrogations()}
        if unknown := set(self.interrogations or ()) - found.keys():
            raise PermanentError(
                f"no interrogation is called {', '.join(sorted(unknown))}; "
                f"there are {', '.join(sorted(found))}"
            )
        chosen = found if self.interrogations is None else self.interrogations
        is_of_code = pool == CODE_POOL
        return {name: found[name] for name in chosen if found[name].is_of_code == is_of_code}
