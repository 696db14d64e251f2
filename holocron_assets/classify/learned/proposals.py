"""What infobox templates and categories of open pages may stand for, proposed once for all their pages."""

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files

from holocron_assets.classify.model_weighing import load_model_weighing
from holocron_assets.classify.rule_file import RULES_VERSION
from holocron_assets.classify.rules import load_rules
from holocron_assets.classify.taxonomy import UNKNOWN
from holocron_assets.decisions.log import SHARED
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row, Table
from holocron_assets.lake.declaration.versions import code_version
from holocron_assets.lake.files.parquet import Footer, read_footer, read_partition, write_partition
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import (
    PAGE_SIGNALS,
    PAGE_TYPES,
    PAGES,
    SITES,
    TYPE_PREDICTIONS,
    TYPE_PROPOSALS,
)
from holocron_assets.lake.tables.classify import TEMPLATE_TABLE
from holocron_assets.lake.titles import Site
from holocron_assets.lake.views.database import connect, query

PROPOSALS_VERSION = f"{code_version(__name__)}-{RULES_VERSION}"
"""Version of the code and rules that the table follows from."""

FEWEST_OPEN = 5
"""Fewer open articles with a template or category are asked about one by one."""

_FEWEST_SPEAKING = 5
"""A type is proposed only if something is said of so many articles."""

_CLEAR = 0.8
"""The share of a type from which it is proposed."""

_GUESS, _ASKED = "guess", "asked"
_EXAMPLES = 5
_KNOWN = files(__package__).joinpath("proposals.sql").read_text(encoding="utf-8")
_MADE_FROM = (SITES, PAGES, PAGE_SIGNALS, PAGE_TYPES, TYPE_PREDICTIONS)


def stale_type_proposals(lake: Lake, sources: Sequence[str]) -> list[str]:
    """The sources whose proposals might come out different today; one without a typed page has none."""
    typed = {source_of(name) for name in lake.partitions(PAGE_TYPES)}
    marks = _marks(lake)
    return [name for name in sources if name in typed and not _is_of(lake, name, _inputs(marks, name))]


def store_type_proposals(lake: Lake, source: str) -> tuple[Footer, Sequence[Row]]:
    """Write table `type_proposals` for one source.

    Args:
        lake: where everything is.
        source: the source; it names the partition.

    Returns:
        The new file's footer, and its rows.
    """
    inputs = _inputs(_marks(lake), source)  # before the rows are read: what comes meanwhile is not in them
    rows = _proposals(lake, source)
    footer = write_partition(
        lake, TYPE_PROPOSALS, source, rows, code_version=PROPOSALS_VERSION, inputs=inputs
    )
    return footer, rows


def _is_of(lake: Lake, source: str, inputs: dict[str, str]) -> bool:
    footer = read_footer(lake, TYPE_PROPOSALS, source)
    return footer is not None and footer.is_of(PROPOSALS_VERSION, inputs)


def _marks(lake: Lake) -> Mapping[str, Mapping[str, str]]:
    """By table that proposals are made from, a mark of each source's partitions."""
    tables = (*_MADE_FROM, *_answers_about_templates(lake))
    return {table.name: lake.marks(table, lambda name: source_of(name) or name) for table in tables}


def _inputs(marks: Mapping[str, Mapping[str, str]], source: str) -> dict[str, str]:
    return {table: of_sources.get(source, "") for table, of_sources in marks.items()}


def _answers_about_templates(lake: Lake) -> list[Table]:
    """The table of what a model says of templates, if there is one."""
    return [table for table in lake.derived_tables if table.name == TEMPLATE_TABLE]


def _proposals(lake: Lake, source: str) -> Sequence[Row]:
    """Rows for what no rule settles, first what an answer about it settles most."""
    relations = ("shared_by_articles", "page_types", "type_predictions")
    asked = {"source": source, "fewest": FEWEST_OPEN, "examples": _EXAMPLES}
    with connect(lake, relations=relations, made_once=["current_answers"]) as connection:
        known = query(connection, _KNOWN, asked)
    [site] = map(Site.from_row, read_partition(lake, SITES, source))
    rules, asked_about = load_rules(site.language), _asked(lake, source)
    rows = []
    for row in known:
        stands_for = row.pop("stands_for")
        if row["kind"] == "template":
            if rules.settles(row["title"].removeprefix(SHARED["template"])):
                continue
            row["evidence"] += asked_about.get(stands_for, ())
        own = {"title_key": title_key(source, row["title"]), "settles": len(row["open_keys"])}
        rows.append({"source": source, **row, **own, **_weighed(row["evidence"])})
    return rows


def _asked(lake: Lake, source: str) -> Mapping[int, Sequence[Row]]:
    """What a model says of templates, as evidence, by the title key of the article that stands for each.

    It has the weight of an answer about a page of which the rules know nothing, and is no article.
    """
    figures = load_model_weighing()
    return {
        row["title_key"]: [
            {
                "type": row["primary_type"],
                "voice": _ASKED,
                "pages": 0,
                "weight": figures.models.get(row["model"], figures.default).alone,
            }
        ]
        for table in _answers_about_templates(lake)
        for batch in lake.partitions(table)
        if source_of(batch) == source
        for row in read_partition(lake, table, batch, ["title_key", "primary_type", "model"])
        if row["primary_type"] != UNKNOWN
    }


def _weighed(evidence: Sequence[Row]) -> Row:
    """The type for which the evidence speaks most, if it is clear, and its share of all that is said.

    The share is what speaks for the type, of all articles of which something is said. A model that was asked
    about a template is one voice more. Where articles alone are not clear, the type that it says is proposed,
    unless more speaks for another.
    """
    asked = {line["type"] for line in evidence if line["voice"] == _ASKED}
    articles = sum(line["pages"] for line in evidence if line["voice"] != _GUESS)
    weights: Counter[str] = Counter()
    for line in evidence:
        weights[line["type"]] += line["weight"]
    if not articles + len(asked):
        return {"proposed_type": None, "share": None}
    best, weight = max(weights.items(), key=lambda entry: (entry[1], entry[0]))
    share = round(weight / (articles + len(asked)), 4)
    is_clear = articles >= _FEWEST_SPEAKING and share >= _CLEAR
    return {"proposed_type": best if is_clear or best in asked else None, "share": share}
