"""Chains of interrogations: which one reads the answers of which. A cycle is refused."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from holocron_assets.derive.interrogations.derived_tables import ROW_TABLES
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.recipe import derivation_of
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.tables import ALL_TABLES
from holocron_assets.lake.tables.retrieval import SPACE_PREFIX
from holocron_assets.lake.views.public_views import tables_behind

_TYPES = ("page_classification",)
_TEMPLATES = (*_TYPES, "template_types")
_LISTS = (*_TYPES, "entity_extraction")
_NAMES = (*_LISTS, "listed_names")
_IDENTITY = (*_NAMES, "identity_check")
_SAID = ("entity_facts", "relationship_extraction", "sentence_statements", "statement_checks")

MADE_FROM_ANSWERS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(
        (
            *("page_types", "type_model", "type_predictions"),
            *("entity_candidates", "entity_departures"),
        ),
        _TYPES,
    ),
    "type_proposals": _TEMPLATES,
    **dict.fromkeys(("page_tags", "tags", "tag_relations"), _LISTS),
    **dict.fromkeys(("entity_mentions", "entity_pairs"), _NAMES),
    **dict.fromkeys(("entities", "entity_aliases", "entity_judgements", "entity_tags"), _IDENTITY),
    **dict.fromkeys(("entity_facts", "entity_relations"), (*_IDENTITY, *_SAID)),
    "review_items": (*_IDENTITY, *_SAID, *_TEMPLATES),
}
"""Tables that are made from answers, directly or in steps, with the keys of those interrogations."""

_OWN_TABLES = {table.name: table for table in ALL_TABLES}


class ChainError(ValueError):
    """An interrogation names answers that it cannot read.

    Attributes:
        interrogation: its name.
    """

    def __init__(self, interrogation: str, reason: str) -> None:
        """Name the interrogation and the reason."""
        super().__init__(reason)
        self.interrogation = interrogation


@dataclass(frozen=True)
class Upstream:
    """Tables that an interrogation reads in addition to those that its items are made from.

    Attributes:
        same_partition: other interrogations' tables, read in the same partition, which may be missing.
        whole: tables of which every partition is read.
    """

    same_partition: tuple[Table, ...]
    whole: tuple[Table, ...]


def upstream_tables(interrogation: Interrogation) -> Upstream:
    """The tables that an interrogation reads in addition to those that its items are made from, for lineage.

    Args:
        interrogation: one that was linked; see `linked`.
    """
    inputs = [one.table for one in interrogation.upstream]
    known = [*inputs, *derivation_of(interrogation).inputs]
    read = [table for table in interrogation.tables_read if table not in known]
    column = interrogation.table.partition_column
    same = [table for table in read if _is_derived(table) and table.partition_column == column]
    return Upstream((*inputs, *same), tuple(table for table in read if table not in same))


def linked(interrogations: Iterable[Interrogation]) -> tuple[Interrogation, ...]:
    """The same interrogations, each knowing those that it reads.

    Raises:
        ChainError: one reads answers that do not exist, that are about another kind of thing, or that follow
            from its own.
    """
    linking = _Linking({one.name: one for one in interrogations})
    return tuple(linking.link(name, ()) for name in linking.known)


def linked_to(interrogation: Interrogation, known: Iterable[Interrogation]) -> Interrogation:
    """One interrogation, knowing those that it reads among some others; these are linked as far as it needs.

    Raises:
        ChainError: as for `linked`.
    """
    names = {one.name: one for one in (*known, interrogation)}
    return _Linking(names).link(interrogation.name, ())


class _Linking:
    """Links interrogations; those that others read come first."""

    def __init__(self, known: Mapping[str, Interrogation]) -> None:
        self.known = known
        self._tables = _OWN_TABLES | {one.table.name: one.table for one in known.values()}
        self._names = {one.table.name: one.name for one in known.values()}
        self._linked: dict[str, Interrogation] = {}

    def link(self, name: str, path: tuple[str, ...]) -> Interrogation:
        if name in path:
            cycle = " <- ".join((*path[path.index(name) :], name))
            raise ChainError(name, f"it reads what is made from its own answers: {cycle}")
        if name not in self._linked:
            self._linked[name] = self._link(self.known[name], (*path, name))
        return self._linked[name]

    def _link(self, interrogation: Interrogation, path: tuple[str, ...]) -> Interrogation:
        inputs = [self._input(interrogation, key) for key in interrogation.inputs]
        self._check_space(interrogation)
        relations = interrogation.relations_of_queries | interrogation.relations_of_condition
        tables = {table for each in relations for table in tables_behind(*each)}
        for name in sorted({*inputs, *self._answers_behind(interrogation, tables)}):
            self.link(name, path)
        read = sorted((self._tables[name] for name in tables & self._tables.keys()), key=attrgetter("name"))
        return interrogation.reading([self._linked[name] for name in inputs], read)

    def _input(self, interrogation: Interrogation, key: str) -> str:
        one = self.known.get(key)
        if one is None or one.shadow:
            live = ", ".join(sorted(name for name, other in self.known.items() if not other.shadow))
            raise ChainError(
                interrogation.name, f"inputs: {key!r} is no interrogation that counts; there are {live}"
            )
        if one.over != interrogation.over:
            raise ChainError(
                interrogation.name, f"inputs: {key} is asked of {one.over}, not of {interrogation.over}"
            )
        return key

    def _check_space(self, interrogation: Interrogation) -> None:
        space = interrogation.search and interrogation.search.space
        there = sorted(one.name.removeprefix(SPACE_PREFIX) for one in self.known.values() if one.is_space)
        if space and space not in there:
            raise ChainError(
                interrogation.name,
                f"evidence: space {space!r}: there is none; there are {', '.join(there) or 'no spaces'}",
            )

    def _answers_behind(self, interrogation: Interrogation, tables: Iterable[str]) -> Iterator[str]:
        """Interrogations whose answers are in some tables, or in what the items are made from, by name."""
        over = interrogation.over
        items = interrogation.wants.of if over == "pages" else ROW_TABLES[over].name
        for table in (items, *tables):
            if table in self._names:
                yield self._names[table]
            yield from self.known.keys() & set(MADE_FROM_ANSWERS.get(table, ()))
        if interrogation.search:
            yield from self.known.keys() & set(_IDENTITY)
            yield from (one.name for one in self.known.values() if one.is_space)


def _is_derived(table: Table) -> bool:
    return table.name not in _OWN_TABLES
