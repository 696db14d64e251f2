"""The relations of an entity as a picture: it in the middle, its neighbours in a column on each side."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from textwrap import wrap
from typing import NamedTuple

from holocron_assets.review.statements import Statement

_MOST_NEIGHBOURS = 16
_WIDTH, _BOX, _CENTRE = 680, 200, 150
_STEP, _LABEL = 30, 22
_LINE, _MOST_LINES = 17, 3
_LETTERS, _CENTRE_LETTERS = 27, 18
"""How many letters fit into a line of a box."""

_Neighbours = dict[str, tuple[str, list[str]]]
"""Neighbours by id: the name of each, and its relations."""


class Node(NamedTuple):
    """A neighbour.

    Attributes:
        entity_id: its id.
        name: its name.
        shown: the part of the name that its box has room for.
        y: the middle of its box.
        edge: the path of the line between its box and the middle.
    """

    entity_id: str
    name: str
    shown: str
    y: float
    edge: str


class Group(NamedTuple):
    """Neighbours with the same relations.

    Attributes:
        label: the relations.
        is_of_others: whether these are relations of the neighbours to the entity.
        is_left: whether they are in the left column.
        y: the base line of the label.
        nodes: the neighbours.
    """

    label: str
    is_of_others: bool
    is_left: bool
    y: float
    nodes: Sequence[Node]


class RelationGraph(NamedTuple):
    """A picture of relations. Its left column may be empty; the right one never is.

    Attributes:
        left: where it starts; more than 0 if the left column is empty.
        width: how wide it is.
        height: how high it is.
        lines: the name of the entity, and the base line of each of its lines.
        groups: the neighbours.
        drawn: how many neighbours it has.
        known: how many there are.
    """

    left: float
    width: float
    height: float
    lines: Sequence[tuple[str, float]]
    groups: Sequence[Group]
    drawn: int
    known: int

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The box in the middle: left, top, width and height."""
        height = len(self.lines) * _LINE + 16
        return (_WIDTH - _CENTRE) / 2, (self.height - height) / 2, _CENTRE, height


class _Wanted(NamedTuple):
    """A group that has no place yet: its label, direction and neighbours, names by id."""

    label: str
    is_of_others: bool
    names: Mapping[str, str]

    @property
    def height(self) -> float:
        return _LABEL + len(self.names) * _STEP


def relation_graph(
    name: str, entity_id: str, relations: Iterable[Statement], of_others: Iterable[Statement]
) -> RelationGraph | None:
    """The picture of an entity's relations; None if no neighbour is an entity.

    A neighbour is drawn once, with all relations of the entity to it, or else with its own to the entity.

    Args:
        name: the entity's name.
        entity_id: its id.
        relations: its relations that count.
        of_others: relations of others to it.
    """
    own = _neighbours((one.to_id, one.value, one.predicate) for one in relations if one.to_id != entity_id)
    others = _neighbours(
        (one.entity_id, one.entity_name, one.predicate)
        for one in of_others
        if one.entity_id not in own and one.entity_id != entity_id
    )
    wanted = _chosen(own, others)
    if not wanted:
        return None
    cut = min(range(len(wanted)), key=lambda place: abs(_height(wanted[:place]) - _height(wanted[place:])))
    height = max(_height(wanted[:cut]), _height(wanted[cut:]), _LINE * _MOST_LINES + 20)
    groups = [*_placed(wanted[:cut], height, is_left=True), *_placed(wanted[cut:], height, is_left=False)]
    left = 0 if cut else (_WIDTH - _CENTRE) / 2 - 2
    drawn = sum(len(group.nodes) for group in groups)
    return RelationGraph(
        left, _WIDTH - left, height, _lines(name, height / 2), groups, drawn, len(own) + len(others)
    )


def _lines(name: str, middle: float) -> list[tuple[str, float]]:
    """The lines of a name around a height, each with its base line."""
    lines = wrap(name, _CENTRE_LETTERS, max_lines=_MOST_LINES, placeholder=" …")
    first = middle - (len(lines) - 1) * _LINE / 2 + 5
    return [(line, first + place * _LINE) for place, line in enumerate(lines)]


def _chosen(own: _Neighbours, others: _Neighbours) -> list[_Wanted]:
    """The groups that are drawn: half of each direction, or more of one if the other is small."""
    room = _MOST_NEIGHBOURS - min(_MOST_NEIGHBOURS // 2, len(others))
    shown_own = dict(islice(own.items(), room))
    shown_others = dict(islice(others.items(), _MOST_NEIGHBOURS - len(shown_own)))
    return [*_grouped(shown_others, is_of_others=True), *_grouped(shown_own, is_of_others=False)]


def _neighbours(found: Iterable[tuple[str | None, str, str]]) -> _Neighbours:
    """The name of each neighbour that is an entity, and its relations."""
    neighbours: _Neighbours = {}
    for entity_id, name, relation in found:
        if entity_id:
            _, relations = neighbours.setdefault(entity_id, (name, []))
            relations += [] if relation in relations else [relation]
    return neighbours


def _grouped(neighbours: _Neighbours, *, is_of_others: bool) -> list[_Wanted]:
    groups: dict[str, dict[str, str]] = {}
    for entity_id, (name, relations) in neighbours.items():
        groups.setdefault(", ".join(relations).replace("_", " "), {})[entity_id] = name
    return [_Wanted(label, is_of_others, names) for label, names in groups.items()]


def _height(groups: Iterable[_Wanted]) -> float:
    return sum(group.height for group in groups)


def _placed(groups: Sequence[_Wanted], height: float, *, is_left: bool) -> Iterator[Group]:
    """Groups one below the other, in the middle of a column."""
    top = (height - _height(groups)) / 2
    for group in groups:
        nodes = [
            _node(entity_id, name, top + _LABEL + (place + 0.5) * _STEP, height / 2, is_left=is_left)
            for place, (entity_id, name) in enumerate(group.names.items())
        ]
        yield Group(group.label, group.is_of_others, is_left, top + _LABEL - 4, nodes)
        top += group.height


def _node(entity_id: str, name: str, y: float, middle: float, *, is_left: bool) -> Node:
    start = (_WIDTH + (-_CENTRE if is_left else _CENTRE)) / 2
    end = _BOX if is_left else _WIDTH - _BOX
    half = (start + end) / 2
    shown = name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1].rstrip()}…"
    edge = f"M{start} {middle:.1f}C{half} {middle:.1f} {half} {y:.1f} {end} {y:.1f}"
    return Node(entity_id, name, shown, y, edge)
