"""What people decided, as far as it concerns who is who and what is held for true."""

from holocron_assets.lake.decisions import Standing
from holocron_assets.resolve.clusters import Held


def held_by_people(decisions: Standing) -> Held:
    """Whose state people decided."""
    kinds = {name: row["kind"] for name, row in decisions.states.items()}
    return Held(
        promoted=frozenset(name for name, kind in kinds.items() if kind == "promote"),
        suppressed=frozenset(name for name, kind in kinds.items() if kind == "suppress"),
    )


def decided_ids(decisions: Standing) -> frozenset[str]:
    """Entities that people merged or keep apart."""
    return frozenset(name for pair in decisions.pairs for name in pair)
