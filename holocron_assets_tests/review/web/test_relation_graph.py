"""The picture of an entity's relations: who is drawn, on which side, and where."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.review.statements import Statement
from holocron_assets.review.web.relation_graph import RelationGraph, relation_graph

ME = "me"
_RELATIONS = st.sampled_from(("leads", "born_on", "of_species"))
_OTHERS = st.one_of(st.none(), st.just(ME), st.integers(0, 40).map(str))
_NAMES = st.text(min_size=1, max_size=60)
_BOX_HEIGHT = 24


def own(relation: str, to_id: str | None, name: str | None = None) -> Statement:
    name = name or f"Entity {to_id}"
    return Statement({}, f"{relation}-{to_id}", ME, "Me", relation, name, to_id, "stated", None)


def of_other(relation: str, other_id: str, name: str | None = None) -> Statement:
    name = name or f"Entity {other_id}"
    return Statement({}, f"{relation}-{other_id}", other_id, name, relation, "Me", ME, "stated", None)


def drawn(graph: RelationGraph | None) -> dict[tuple[str, bool], list[str]]:
    """The ids of the nodes by label, and by whether the relation is the neighbours'."""
    assert graph is not None
    return {
        (group.label, group.is_of_others): [node.entity_id for node in group.nodes] for group in graph.groups
    }


def test_neighbours_are_grouped_by_relation_in_both_directions() -> None:
    graph = relation_graph(
        "Me", ME, [own("born_on", "a"), own("leads", "b"), own("leads", "c")], [of_other("knows", "d")]
    )
    assert drawn(graph) == {("born on", False): ["a"], ("leads", False): ["b", "c"], ("knows", True): ["d"]}


def test_a_neighbour_of_several_relations_is_drawn_once() -> None:
    graph = relation_graph(
        "Me", ME, [own("leads", "a"), own("born_on", "a"), own("leads", "a")], [of_other("led_by", "a")]
    )
    assert drawn(graph) == {("leads, born on", False): ["a"]}


def test_without_a_neighbour_that_is_an_entity_there_is_no_picture() -> None:
    assert relation_graph("Me", ME, [own("leads", None, "Nobody"), own("leads", ME)], []) is None


def test_both_directions_have_room_if_there_are_too_many() -> None:
    many = [own("leads", f"to {place}") for place in range(30)]
    others = [of_other("knows", f"from {place}") for place in range(20)]
    graph = relation_graph("Me", ME, many, others)
    assert {key: len(ids) for key, ids in drawn(graph).items()} == {("knows", True): 8, ("leads", False): 8}
    assert graph is not None
    assert (graph.drawn, graph.known) == (16, 50)
    assert {key: len(ids) for key, ids in drawn(relation_graph("Me", ME, many, others[:3])).items()} == {
        ("knows", True): 3,
        ("leads", False): 13,
    }


def test_the_columns_are_about_as_high_and_one_group_needs_one_column() -> None:
    graph = relation_graph("Me", ME, [own(f"relation {place}", str(place)) for place in range(6)], [])
    assert graph is not None
    assert [group.is_left for group in graph.groups] == [True] * 3 + [False] * 3
    assert graph.left == 0
    single = relation_graph("Me", ME, [own("leads", "a")], [])
    assert single is not None
    assert [group.is_left for group in single.groups] == [False]
    assert single.left > 0, "the empty column takes no room"


def test_long_names_are_cut_to_their_boxes() -> None:
    long = "Ondrel Shipwrights and Sons Incorporated"
    graph = relation_graph(f"{long} {long}", ME, [own("leads", "a", long)], [])
    assert graph is not None
    [[node]] = [group.nodes for group in graph.groups]
    assert (node.name, node.shown) == (long, "Ondrel Shipwrights and Son…")
    assert [line for line, _ in graph.lines] == ["Ondrel Shipwrights", "and Sons", "Incorporated …"]


@given(
    _NAMES,
    st.lists(st.builds(own, _RELATIONS, _OTHERS, _NAMES), max_size=30),
    st.lists(st.builds(of_other, _RELATIONS, st.integers(0, 40).map(str), _NAMES), max_size=30),
)
def test_boxes_lie_in_the_picture_and_never_on_each_other(
    name: str, relations: list[Statement], of_others: list[Statement]
) -> None:
    graph = relation_graph(name, ME, relations, of_others)
    neighbours = {one.to_id for one in relations} | {one.entity_id for one in of_others}
    assert (graph is None) == (not neighbours - {None, ME})
    if graph is None:
        return
    for is_left in (True, False):
        column = [group for group in graph.groups if group.is_left is is_left]
        heights = [node.y for group in column for node in group.nodes]
        assert all(later - one >= _BOX_HEIGHT for one, later in pairwise(heights))
        assert all(_BOX_HEIGHT / 2 <= y <= graph.height - _BOX_HEIGHT / 2 for y in heights)
    assert graph.box[1] >= 0
    assert graph.drawn == len({node.entity_id for group in graph.groups for node in group.nodes}) <= 16
