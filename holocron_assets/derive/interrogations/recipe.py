"""Whether an interrogation's table is what pages, prompt, schema and model would give today; if not, why."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.items import derivation_of
from holocron_assets.lake.freshness import Derivation
from holocron_assets.lake.keys import content_hash
from holocron_assets.lake.parquet import Footer, read_footer
from holocron_assets.lake.paths import Lake

CODE = "code"
"""What differs where only the code that makes the rows does."""

ANY_MODEL = ""
"""Digest that stands for whichever model made a partition, where none can be asked."""

MODEL = "model"
"""The version that is the digest of the model that is asked."""

NOT_THERE = ("new",)
"""What differs where there is no partition yet."""


@dataclass(frozen=True)
class Recipe:
    """What the partitions of an interrogation's table are made from.

    Attributes:
        derivation: its table, input tables and the version of the code.
        versions: hashes of what the interrogation says of 'prompt', 'schema', 'options', 'wants' and 'rows',
            and the digest of the 'model'.
    """

    derivation: Derivation
    versions: Mapping[str, str]

    def inputs(self, lake: Lake, partition: str) -> dict[str, str] | None:
        """What a partition would be made from now: the inputs that its footer is to name.

        Read it before the items are read: an input that is replaced meanwhile makes the new file stale, not
        wrong for ever.

        Returns:
            Content ids by input table, and the versions; None while an input is missing.
        """
        found = self.derivation.fingerprints(lake, partition)
        return None if found is None else {**found, **self.versions}

    def differences(self, lake: Lake, partition: str) -> tuple[str, ...]:
        """What changed since a partition was made: names of input tables, of versions, or `CODE`.

        Returns:
            Nothing if the partition is what would be made now, or cannot be made; `NOT_THERE` if there is
            none.
        """
        wanted = self.inputs(lake, partition)
        if wanted is None:
            return ()
        footer = read_footer(lake, self.derivation.table, partition)
        if footer is None:
            return NOT_THERE
        if not self.versions[MODEL]:
            wanted[MODEL] = footer.inputs.get(MODEL, ANY_MODEL)
        return _changed(footer, wanted, self.derivation.code_version)


def recipe_of(interrogation: Interrogation, digest: str) -> Recipe:
    """The recipe of an interrogation that asks the model of this digest, or `ANY_MODEL`."""
    versions = {
        "prompt": interrogation.prompt_version,
        "schema": interrogation.schema_version,
        "options": _version(interrogation.options),
        "wants": _version(interrogation.wants),
        "rows": _version(interrogation.rows),
        MODEL: digest,
    }
    return Recipe(derivation_of(interrogation), versions)


def _version(settings: BaseModel) -> str:
    return content_hash(settings.model_dump_json())[:16]


def _changed(footer: Footer, wanted: Mapping[str, str], code_version: str) -> tuple[str, ...]:
    names = sorted(wanted.keys() | footer.inputs.keys())
    changed = tuple(name for name in names if footer.inputs.get(name) != wanted.get(name))
    # What the interrogation says may be part of the code's version too; then it is the reason.
    return changed or ((CODE,) if footer.code_version != code_version else ())
