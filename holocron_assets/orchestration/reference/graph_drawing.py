"""The graph as text and as a picture: Mermaid, Graphviz' language, and SVG."""

import os
import subprocess
import sys
from collections.abc import Sequence
from html import escape

from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.orchestration.reference.graph import Graph, Stage

_COLOURS = {
    "crawl": "#dbeafe",
    "signals": "#cffafe",
    "classification": "#dcfce7",
    "derivations": "#fef3c7",
    "entities": "#fce7f3",
    "tags": "#ede9fe",
    "review": "#ffedd5",
}
"""Colours of stages, by their group."""

_OTHER_COLOUR = "#f1f5f9"
_POINTS_A_LETTER, _POINTS_AROUND, _POINTS_HIGH = 6.7, 18.0, 28.0
_POINTS_AN_INCH = 72.0

# Graphviz measures with the machine's fonts, and warns about their setup. So a picture would depend on the
# machine. Here it finds no fonts, and its messages are shown only if it fails.
_DRAW = """
import sys, pygraphviz
sys.stdout.buffer.write(pygraphviz.AGraph(string=sys.stdin.read()).draw(format="svg", prog="dot"))
"""
_NO_FONTS = {"FONTCONFIG_SYSROOT": os.devnull}


def mermaid(graph: Graph) -> str:
    """The graph in Mermaid, which GitHub and many editors draw."""
    lines, homes = ["flowchart LR"], graph.homes()
    for home, stages in homes.items():
        nodes = [f'{stage.name}["{_label(stage)}"]:::{stage.group}' for stage in stages]
        if _is_framed(stages):
            nodes = [f'subgraph job_{home} ["{_title(home, stages)}"]', *(f"    {n}" for n in nodes), "end"]
        lines += [f"    {node}" for node in nodes]
    lines += [f"    {_trigger(name)}([{name}])" for name in _drawn_triggers(graph)]
    lines += [f"    {before} --> {after}" for before, after in graph.edges]
    for trigger, home, job in graph.starts:
        target = f"job_{home}" if _is_framed(homes[home]) else homes[home][0].name
        lines.append(f'    {_trigger(trigger)} -. "{job}" .-> {target}')
    groups = dict.fromkeys(stage.group for stage in graph.stages)
    lines += [f"    classDef {group} fill:{_colour(group)},stroke:#64748b,color:#0f172a" for group in groups]
    return "\n".join(lines) + "\n"


def dot(graph: Graph) -> str:
    """The graph in Graphviz' language."""
    font = 'fontname="Helvetica,Arial,sans-serif"'
    lines, homes = ["digraph holocron {"], graph.homes()
    lines.append(
        f"  graph [rankdir=LR, compound=true, nodesep=0.2, ranksep=0.5, pad=0.2, {font}, fontsize=13];"
    )
    lines.append(
        f'  node [shape=box, style="filled,rounded", fixedsize=true, color="#64748b", {font}, fontsize=12];'
    )
    lines.append(f'  edge [color="#334155", arrowsize=0.7, {font}, fontsize=10];')
    for home, stages in homes.items():
        nodes = [_stage_node(stage) for stage in stages]
        if _is_framed(stages):
            frame = f'label="{_title(home, stages)}", labeljust=l, style=rounded, color="#94a3b8"'
            nodes = [f'subgraph "cluster_{home}" {{', f"  graph [{frame}];", *(f"  {n}" for n in nodes), "}"]
        lines += [f"  {node}" for node in nodes]
    for name in _drawn_triggers(graph):
        lines.append(f'  "{_trigger(name)}" [label="{name}", shape=cds, fillcolor="#fee2e2", {_size(name)}];')
    implied = _implied(graph.edges)
    for before, after in graph.edges:
        faint = ' [color="#cbd5e1", penwidth=0.7]' if (before, after) in implied else ""
        lines.append(f'  "{before}" -> "{after}"{faint};')
    for trigger, home, job in graph.starts:
        frame = f', lhead="cluster_{home}"' if _is_framed(homes[home]) else ""
        first = _first(homes[home]).name
        how = f'style=dotted, penwidth=1.6, color="#dc2626", edgetooltip="{job}"{frame}'
        lines.append(f'  "{_trigger(trigger)}" -> "{first}" [{how}];')
    return "\n".join([*lines, "}", ""])


def svg(graph: Graph) -> str:
    """The graph as a picture, which ends with the hash of its source text.

    Raises:
        PermanentError: Graphviz cannot draw it; says why.
    """
    text = dot(graph)
    drawn = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _DRAW],
        input=text,
        env={**os.environ, **_NO_FONTS},
        capture_output=True,
        text=True,
        check=False,
    )
    if drawn.returncode:
        raise PermanentError(f"Graphviz did not draw the graph: {drawn.stderr.strip()}")
    return f"{drawn.stdout.rstrip()}\n{drawn_from(text)}\n"


def drawn_from(text: str) -> str:
    """The end of a picture: the hash of the text that it was drawn from."""
    return f"<!-- drawn from {content_hash(text)} -->"


def _label(stage: Stage) -> str:
    """A stage's name, and what it reads in addition to what it requires."""
    return " + ".join([stage.name, *(table for table in stage.reads_too if table not in stage.produces)])


def _title(home: str, stages: Sequence[Stage]) -> str:
    return f"job {home}, by {' or '.join(dict.fromkeys(stage.of_one for stage in stages))}"


def _is_framed(stages: Sequence[Stage]) -> bool:
    return len(stages) > 1


def _drawn_triggers(graph: Graph) -> list[str]:
    return sorted({name for name, _, _ in graph.starts})


def _trigger(name: str) -> str:
    """The name of a trigger in a drawing: a job or a stage may have the same name."""
    return f"starts_{name}"


def _colour(group: str) -> str:
    return _COLOURS.get(group, _OTHER_COLOUR)


def _first(stages: Sequence[Stage]) -> Stage:
    """A stage that requires none of the others: an arrow to their frame points there."""
    names = {stage.name for stage in stages}
    return next((stage for stage in stages if names.isdisjoint(stage.requires)), stages[0])


def _implied(edges: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Edges to a stage that a longer way also leads to."""
    after: dict[str, set[str]] = {}
    for before, then in edges:
        after.setdefault(before, set()).add(then)

    def reached(name: str) -> set[str]:
        found: set[str] = set()
        waiting = [*after.get(name, ())]
        while waiting:
            if (one := waiting.pop()) not in found:
                found.add(one)
                waiting += after.get(one, ())
        return found

    further = {name: set[str]().union(*(reached(then) for then in after[name])) for name in after}
    return {(before, then) for before, then in edges if then in further[before]}


def _stage_node(stage: Stage) -> str:
    title = f"requires {', '.join(stage.requires) or 'no stage'}; produces {', '.join(stage.produces)}"
    label, colour = _label(stage), _colour(stage.group)
    how = f'label="{label}", fillcolor="{colour}", tooltip="{escape(title)}", {_size(label)}'
    return f'"{stage.name}" [{how}];'


def _size(label: str) -> str:
    """The width is fixed, not measured, so that a missing font moves nothing."""
    width = (len(label) * _POINTS_A_LETTER + _POINTS_AROUND) / _POINTS_AN_INCH
    return f"width={width:.2f}, height={_POINTS_HIGH / _POINTS_AN_INCH:.2f}"
