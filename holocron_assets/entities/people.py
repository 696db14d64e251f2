"""People's decisions about the identity and the state of entities."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from holocron_assets.decisions.log import Standing
from holocron_assets.entities.identity.clusters import Held
from holocron_assets.lake.declaration.schema import Row


@dataclass(frozen=True)
class People:
    """The decisions about entities that count.

    Attributes:
        decisions: all decisions that count.
    """

    decisions: Standing

    @property
    def pairs(self) -> Mapping[frozenset[str], Row]:
        """The last 'merge' or 'split' of each pair, by both entity ids."""
        return self.decisions.pairs

    @property
    def states(self) -> Mapping[str, Row]:
        """The last 'promote' or 'suppress' of each entity, by its id."""
        return self.decisions.states

    @cached_property
    def held(self) -> Held:
        """The entities whose state people decided."""
        kinds = {name: row["kind"] for name, row in self.states.items()}
        return Held(
            promoted=frozenset(name for name, kind in kinds.items() if kind == "promote"),
            suppressed=frozenset(name for name, kind in kinds.items() if kind == "suppress"),
        )

    @cached_property
    def paired(self) -> AbstractSet[str]:
        """Entities that people merged or keep apart."""
        return frozenset(name for pair in self.pairs for name in pair)

    @cached_property
    def partners(self) -> Mapping[str, Sequence[tuple[str, Row]]]:
        """By entity id, the entities that people merged it with, each with the decision."""
        found: defaultdict[str, list[tuple[str, Row]]] = defaultdict(list)
        for row in self.pairs.values():
            if row["kind"] == "merge":
                found[row["entity_id"]].append((row["other_id"], row))
                found[row["other_id"]].append((row["entity_id"], row))
        return found

    @cached_property
    def keeps(self) -> AbstractSet[str]:
        """Entities that people promoted or merged: no machine moves them to another type."""
        return self.held.promoted | self.partners.keys()


NOBODY = People(Standing(()))
