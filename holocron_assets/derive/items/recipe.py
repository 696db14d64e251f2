"""Whether an interrogation's table is up to date with pages, prompt, schema and model; if not, why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel

from holocron_assets.classify.learned.answers import sure_digests
from holocron_assets.derive.code.functions import MAKES_TEXT
from holocron_assets.derive.interrogations.conditions import TYPE_TABLES
from holocron_assets.derive.interrogations.derived_tables import ROW_TABLES
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.query_digests import Digests, query_digests
from holocron_assets.derive.items.searching import search_digests
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.parquet import Footer, read_footer
from holocron_assets.lake.freshness import Derivation, FooterOf
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_CHUNKS, PAGE_SIGNALS, PAGES

_MODULES = (
    "holocron_assets.derive.items.items",
    "holocron_assets.derive.items.derived_rows",
    "holocron_assets.derive.results.answer_tables",
)
"""The modules that make an interrogation's table: its items, and the rows of their answers."""

CODE = "code"
"""The difference if only the code that makes the rows changed."""

ANY_MODEL = ""
"""A digest that matches any model that made a partition, for when no model can be asked."""

MODEL = "model"
"""The name of the version that is the model's digest."""

QUERIES = "queries"
"""The difference if its queries give other rows than before, or a search may find others, or if the learned
model is sure of other pages."""

NOT_THERE = ("new",)
"""The difference if there is no partition yet."""


@dataclass(frozen=True)
class Recipe:
    """The inputs and versions that the partitions of an interrogation's table are made from.

    Attributes:
        derivation: its table, input tables and the version of the code.
        versions: hashes of what the interrogation says of 'prompt', 'schema', 'options', 'wants' and 'rows',
            and the digest of the 'model'.
        digests_of: digests of its queries, of what it may find, or of the pages that the learned model is
            sure of, in a lake, by partition; None where it has no queries, searches nothing, and wants
            pages whatever the model says.
    """

    derivation: Derivation
    versions: Mapping[str, str]
    digests_of: Callable[[Lake], Digests] | None = None

    def inputs(
        self,
        lake: Lake,
        partition: str,
        digests: Digests | None = None,
        footer_of: FooterOf | None = None,
    ) -> dict[str, str] | None:
        """The inputs that a partition would be made from now, as its footer is to name them.

        Call it before the items are read: then an input that is replaced meanwhile makes the new file stale,
        and not wrong for ever.

        Args:
            lake: where.
            partition: the partition's name.
            digests: from `digests_of`; computed by default.
            footer_of: as for `Derivation.fingerprints`.

        Returns:
            Content ids by input table, and the versions; None while an input is missing.
        """
        found = self.derivation.fingerprints(lake, partition, footer_of=footer_of)
        if found is None:
            return None
        asked: dict[str, str] = {}
        if self.digests_of:
            asked[QUERIES] = (self.digests_of(lake) if digests is None else digests).get(partition, "")
        return {**found, **asked, **self.versions}

    def differences(
        self,
        lake: Lake,
        partition: str,
        digests: Digests | None = None,
        footer_of: FooterOf | None = None,
    ) -> tuple[str, ...]:
        """The changes since a partition was made: names of input tables, of versions, `QUERIES` or `CODE`.

        Args:
            lake: where.
            partition: the partition's name.
            digests: as for `inputs`.
            footer_of: as for `inputs`.

        Returns:
            Empty if the partition would be the same now, or cannot be made; `NOT_THERE` if there is none.
        """
        footer_of = footer_of or partial(read_footer, lake)
        wanted = self.inputs(lake, partition, digests, footer_of)
        if wanted is None:
            return ()
        footer = footer_of(self.derivation.table, partition)
        if footer is None:
            return NOT_THERE
        if not self.versions[MODEL]:
            wanted[MODEL] = footer.inputs.get(MODEL, ANY_MODEL)
        return _changed(footer, wanted, self.derivation.code_version)


def derivation_of(interrogation: Interrogation) -> Derivation:
    """How an interrogation's table is made from others. Its own file is not part of the code's version."""
    inputs: tuple[Table, ...] = (
        (PAGES, PAGE_SIGNALS, TYPE_TABLES[interrogation.wants.of])
        if interrogation.over == "pages"
        else (ROW_TABLES[interrogation.over],)
    )
    if interrogation.is_space:
        inputs = (*inputs, PAGE_CHUNKS)
    return Derivation(
        interrogation.table,
        inputs,
        (),
        code_version(*_MODULES, *(MAKES_TEXT if interrogation.kind == "model" else ())),
        optional_inputs=tuple(one.table for one in interrogation.upstream),
    )


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
    return Recipe(derivation_of(interrogation), versions, _digests_of(interrogation))


def _digests_of(interrogation: Interrogation) -> Callable[[Lake], Digests] | None:
    kinds: list[Callable[[Lake], Digests]] = []
    if interrogation.search is not None:
        kinds.append(partial(search_digests, interrogation=interrogation))
    elif interrogation.tables_read:
        kinds.append(partial(query_digests, interrogation=interrogation))
    if interrogation.wants.unpredicted:
        kinds.append(sure_digests)
    return partial(_together, kinds) if len(kinds) > 1 else next(iter(kinds), None)


def _together(kinds: Sequence[Callable[[Lake], Digests]], lake: Lake) -> Digests:
    found = [kind(lake) for kind in kinds]
    names = {name for digests in found for name in digests}
    return {name: " ".join(digests.get(name, "") for digests in found) for name in names}


def _version(settings: BaseModel) -> str:
    return content_hash(settings.model_dump_json())[:16]


def _changed(footer: Footer, wanted: Mapping[str, str], code_version: str) -> tuple[str, ...]:
    names = sorted(wanted.keys() | footer.inputs.keys())
    changed = tuple(name for name in names if footer.inputs.get(name) != wanted.get(name))
    # The interrogation's file may be part of the code's version too; then it is the reason.
    return changed or ((CODE,) if footer.code_version != code_version else ())
