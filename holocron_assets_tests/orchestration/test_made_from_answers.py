"""Tables that are declared to be made from answers are those that the asset graph makes from them."""

import dagster as dg

from holocron_assets.definitions import defs
from holocron_assets.derive.interrogations.chains import MADE_FROM_ANSWERS
from holocron_assets.lake.tables.retrieval import SPACE_PREFIX

NO_TABLES = {"search_index", "views"}


def test_every_table_that_follows_from_answers_is_declared_with_their_interrogations() -> None:
    graph = defs.resolve_asset_graph()

    def above(key: dg.AssetKey) -> set[str]:
        parents = graph.get(key).parent_keys
        return {parent.path[-1] for parent in parents}.union(*(above(parent) for parent in parents))

    found: dict[str, set[str]] = {}
    for key in graph.get_all_asset_keys():
        name = key.path[-1]
        answers = {one.removeprefix("derived_") for one in above(key) if one.startswith("derived_")}
        if answers and not name.startswith(("derived_", SPACE_PREFIX)) and name not in NO_TABLES:
            found[name] = answers
    assert found == {table: set(keys) for table, keys in MADE_FROM_ANSWERS.items()}
