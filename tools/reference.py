"""`docs/reference.md`: commands, settings, keys of files and metrics, written from the code itself.

.venv/bin/python tools/reference.py > docs/reference.md
"""

import inspect
import re
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import click
from prometheus_client import Metric
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from holocron_assets.cli.main import main
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.source import Source
from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.opening import open_lake
from holocron_assets.entities.facts import rules
from holocron_assets.entities.facts.rules import InfoboxRule, RuleFile
from holocron_assets.entities.tags.vocabulary import Vocabulary
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.operations.groups import Group
from holocron_assets.operations.notifications.alert_rules import AlertRules
from holocron_assets.operations.notifications.webhooks import Webhooks
from holocron_assets.operations.schedules import Schedules
from holocron_assets.operations.state.dagster_state import DagsterState
from holocron_assets.operations.state.snapshot import take_snapshot
from holocron_assets.operations.state.totals import Totals
from holocron_assets.operations.state.watch import Watch
from holocron_assets.settings import VARIABLES

_HEAD = """\
# Reference

Commands, settings, keys of files and metrics, as the code declares them. Assets, jobs, sensors, schedules and
tags are in [names.md](names.md), tables in [tables.md](tables.md), views in [views.md](views.md). A test
compares this page with the code. After a change:

    .venv/bin/python tools/reference.py > docs/reference.md
"""
_FILES: Sequence[tuple[str, str, type[BaseModel]]] = (
    ("Dispatch", "`data/dispatch.yaml`; [dispatch.md](dispatch.md).", DispatchSettings),
    ("Schedules", "`data/schedules.yaml`; [control.md](control.md#schedules).", Schedules),
    ("Groups", "`data/groups/NAME.yaml`; [control.md](control.md#groups-work-in-sequence).", Group),
    ("Webhooks", "`data/webhooks.yaml`; [alerts.md](alerts.md).", Webhooks),
    (
        "Alerts",
        "`data/alerts.yaml`; [alerts.md](alerts.md). `null` switches a rule off.",
        AlertRules,
    ),
    ("Tags", "`data/tags.yaml`; [tags.md](tags.md).", Vocabulary),
    ("Infobox rules", "`data/infobox/NAME.yaml`; [facts.md](facts.md#adding-infobox-rules).", RuleFile),
)
"""What else people write, and the models that it is validated by."""
_GENERIC_RULES = Path(rules.__file__).parent / "rules" / "generic.yaml"
"""Its head says what the keys of a rule mean."""
_COMMENT = re.compile(r"^# (\w+) {2,}(.+)$", re.MULTILINE)
_ATTRIBUTE = re.compile(r"^(\w+): (.*(?:\n {4,}.*)*)", re.MULTILINE)


def reference_markdown() -> str:
    """The whole page."""
    return "\n".join(
        [
            _HEAD,
            _section("Settings", "Environment variables; in brackets, the default.", _settings()),
            _section("Source files", "`data/sources/NAME.yaml`; [sources.md](sources.md).", _keys(Source)),
            _section("Sources of files", "Also there; [files.md](files.md).", _keys(FileSource)),
            _section(
                "Interrogations",
                "`data/interrogations/KEY.yaml`; [interrogations.md](interrogations.md).",
                _keys(Interrogation),
            ),
            *(_section(title, about, _keys(model)) for title, about, model in _FILES),
            _section("Metrics", "What `GET /metrics` gives; [monitoring.md](monitoring.md).", _metrics()),
            "## Commands\n",
            *_commands(main, "holocron"),
        ]
    )


def _section(title: str, about: str, table: Sequence[Sequence[str]]) -> str:
    head, *rows = table
    lines = [head, ["---"] * len(head), *rows]
    return f"## {title}\n\n{about}\n\n{_drawn(lines)}"


def _settings() -> list[Sequence[str]]:
    return [
        ("variable", "what it says"),
        *((f"`{name}`", described) for name, described in VARIABLES.items()),
    ]


def _keys(model: type[BaseModel]) -> list[Sequence[str]]:
    return [("key", "needed", "what it says"), *_key_rows(model, "")]


def _key_rows(model: type[BaseModel], prefix: str) -> Iterator[Sequence[str]]:
    attributes = inspect.cleandoc(model.__doc__ or "").partition("Attributes:\n")[2]
    described = dict(_ATTRIBUTE.findall(textwrap.dedent(attributes)))
    if model is InfoboxRule:
        described |= dict(_COMMENT.findall(_GENERIC_RULES.read_text(encoding="utf-8")))
    for name, field in model.model_fields.items():
        inner = _models_in(field.annotation)
        says = field.description or described.get(name) or _summary([*inner, model])
        yield f"`{prefix}{name}`", _needed(field), " ".join(says.split()).rstrip(".")
        # What a person names is a key of its own.
        named = "NAME." if _is_mapping(field.annotation) else ""
        for one in inner:
            yield from _key_rows(one, f"{prefix}{name}.{named}")


def _summary(models: Sequence[type[BaseModel]]) -> str:
    return inspect.cleandoc(models[0].__doc__ or "").partition("\n")[0]


def _is_mapping(annotation: Any) -> bool:
    return get_origin(annotation) in (dict, Mapping)


def _needed(field: FieldInfo) -> str:
    if field.is_required():
        return "yes"
    default = field.get_default(call_default_factory=True)
    if isinstance(default, BaseModel) or default in (None, (), {}):
        return ""
    shown = ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)
    return f"`{shown.lower() if isinstance(default, bool) else shown}`"


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """The models that a field may hold, in whatever it holds them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is None:
        return []
    if origin is Annotated:
        return _models_in(parts[0])
    found = [model for part in parts for model in _models_in(part)]
    is_choice = (
        origin in (Union, UnionType) and len(found) > 1
    )  # of several kinds: the page beside tells of them
    return [] if is_choice else found


def _metrics() -> list[Sequence[str]]:
    """Every family, as a look at an empty lake gives it."""
    with tempfile.TemporaryDirectory() as name:
        status = take_snapshot(open_lake(Path(name)), [], Path(name))
    nothing: Any = ()
    totals = Totals(*[nothing] * len(inspect.signature(Totals).parameters))
    dagster = DagsterState(utc_now(), {}, {}, None)
    families = Watch(lambda: status, lambda: totals, lambda: dagster, dict).collect()
    rows = [
        (f"`{_exposed(family)}`", family.type, ", ".join(_labels(family)), family.documentation)
        for family in families
    ]
    return [("metric", "type", "labels", "what it says"), *rows]


def _labels(family: Metric) -> Sequence[str]:
    # The library keeps them to itself, and a family without samples shows them nowhere else.
    return tuple(getattr(family, "_labelnames", ()))


def _exposed(family: Metric) -> str:
    return f"{family.name}_total" if family.type == "counter" else str(family.name)


def _commands(command: click.Command, name: str, above: click.Context | None = None) -> Iterator[str]:
    context = click.Context(command, above, name, **command.context_settings)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            inner = command.get_command(context, below)
            if inner is not None:
                yield from _commands(inner, below, context)
        return
    path = context.command_path
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    help_text = inspect.cleandoc(command.help or "")
    yield f"### `{path}`\n\n```text\n{usage}\n```\n\n{help_text}\n"
    rows = [_option_row(option, context) for option in command.params if isinstance(option, click.Option)]
    if rows:
        yield _drawn([("option", "what it does"), ("---", "---"), *rows])


def _option_row(option: click.Option, context: click.Context) -> Sequence[str]:
    names, described = option.get_help_record(context) or ("", "")
    return f"`{names}`", " ".join(described.split())


def _drawn(lines: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(reference_markdown())
