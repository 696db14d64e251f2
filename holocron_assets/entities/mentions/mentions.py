"""Mentions on list pages: the page or name that each means, and the candidates that only lists give."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

from holocron_assets.entities.mentions.confidence import MentionConfidence
from holocron_assets.entities.names.visible_text import visible
from holocron_assets.lake.declaration.keys import content_hash, title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.titles import MAIN_NAMESPACE, InterwikiTitle, InvalidTitle, Site

LONGEST_NAME = 120
"""The most characters of a name to keep: no list page has longer names."""

_AROUND_NAMES = " \t*•·–—-:;,"  # noqa: RUF001 - dashes and dots that lists are written with
_SUFFIX = re.compile(r"\s*\([^()]*\)\s*$")
_FROM_LIST = ("source", "batch", "revision_id", "title_key", "chunk", "evidence", "supported", "model")


@dataclass(frozen=True)
class FoundMentions:
    """All mentions on list pages, by entity type.

    Attributes:
        rows: rows of `entity_mentions` without their run.
        without_page: those of them that mean no page that is a candidate.
        kept_out: how many names mean nothing that could be an entity, by the type that the model gives them,
            and why: 'no_title' (no article can be called so), 'no_entity' (the page is a list, say, or the
            section of another) or 'ambiguous' (a page is called so, but another thing may be meant).
            Names of which neither a page nor a list says the type are not counted.
    """

    rows: Mapping[str, Sequence[Row]]
    without_page: Mapping[str, Sequence[Row]]
    kept_out: Mapping[str, Mapping[str, int]]

    @cached_property
    def marks(self) -> Mapping[str, str]:
        """A mark of each type's mentions, which changes with them."""
        return {
            name: content_hash(json.dumps([rows, len(self.without_page.get(name, ()))]))
            for name, rows in self.rows.items()
        }

    @cached_property
    def types(self) -> Mapping[int, str]:
        """The type of each title that is named, by title key."""
        return {row["means_key"]: name for name, rows in self.rows.items() for row in rows}

    def candidates(self, entity_type: str, confidence: MentionConfidence) -> list[dict[str, Any]]:
        """Candidates of a type that only lists give (see `mention_candidates`)."""
        return mention_candidates(self.without_page.get(entity_type, ()), confidence)


NO_MENTIONS = FoundMentions({}, {}, {})


def clean_name(name: str) -> str:
    """A name on a list page, without invisible characters and the marks that lists put around names.

    Args:
        name: any text: it comes from a wiki, by way of a model.

    Returns:
        The name in NFC, of at most 120 characters; empty if nothing is left.
    """
    return visible(visible(name, 2 * LONGEST_NAME).strip(_AROUND_NAMES), LONGEST_NAME)


def said_names(answers: Iterable[Row], sites: Mapping[str, Site]) -> list[dict[str, Any]]:
    """The names on lists by the answers about them: each name of a list and type once.

    Args:
        answers: rows of the tables of such answers, with the list page's `continuity`. A row without a type
            joins one of the same name.
        sites: the wikis, by source.

    Returns:
        Rows with a `number`, the list's columns, `name`, `title` (that an article of this name has; None if
        none can have it), `said_type`, `aliases`, and the best evidence for it.
    """
    by_name: defaultdict[tuple[str, int, str], list[Row]] = defaultdict(list)
    for answer in answers:
        name = clean_name(answer["name"])
        if any(map(str.isalnum, name)):
            by_name[answer["source"], answer["title_key"], name].append(answer)
    groups = [(key, said_type, rows) for key in sorted(by_name) for said_type, rows in _by_type(by_name[key])]
    return [
        {
            "number": number,
            **_best(rows),
            "name": name,
            "title": _article_title(sites[source], name),
            "said_type": said_type,
            "aliases": _other_names(name, rows),
        }
        for number, ((source, _, name), said_type, rows) in enumerate(groups)
    ]


def mention_rows(names: Sequence[Row], meant: Mapping[int, Row]) -> FoundMentions:
    """Rows of `entity_mentions`, each in the type of the thing that it means.

    A page's own type counts. Without a page, the type counts that most lists give the same name.

    Args:
        names: from `said_names`.
        meant: by number, what each means: `method`, `title`, `to_section`, and of the page of that title, if
            there is one, `has_page`, `is_other`, `entity_type` and `continuity`.
    """
    kept_out: defaultdict[str, Counter[str]] = defaultdict(Counter)
    clear = []
    for name in names:
        found = meant[name["number"]]
        reason = _unclear(found)
        if reason is None:
            clear.append(_row(name, found))
        elif name["said_type"]:
            kept_out[name["said_type"]][reason] += 1
    voted = _voted_types(clear)
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    without_page: defaultdict[str, list[Row]] = defaultdict(list)
    for row in sorted(clear, key=itemgetter("mention_id")):
        if row["entity_type"]:
            rows[row["entity_type"]].append(row)
        elif entity_type := voted.get(row["means_key"]):
            typed = {**row, "entity_type": entity_type}
            rows[entity_type].append(typed)
            without_page[entity_type].append(typed)
    return FoundMentions(rows, without_page, kept_out)


def mention_candidates(mentions: Iterable[Row], confidence: MentionConfidence) -> list[dict[str, Any]]:
    """Candidates for things that lists name and no page is about: one for all lists that name it.

    Args:
        mentions: rows of `entity_mentions` of one type that mean no page that is a candidate.
        confidence: the confidence of mentions.

    Returns:
        Rows of `entity_candidates` without their run, with `origin` 'mention'. Batch and revision are those
        of the newest list.
    """
    groups: defaultdict[int, list[Row]] = defaultdict(list)
    for mention in mentions:
        groups[mention["means_key"]].append(mention)
    return sorted(
        (_candidate(group, confidence) for group in groups.values()), key=itemgetter("source", "title")
    )


def _by_type(answers: Iterable[Row]) -> list[tuple[str | None, list[Row]]]:
    """The answers about a name by the type that they give it; those without a type go with the first one."""
    found: defaultdict[str, list[Row]] = defaultdict(list)
    untyped: list[Row] = []
    for answer in answers:
        (found[answer["type"]] if answer["type"] else untyped).append(answer)
    if not found:
        return [(None, untyped)]
    first, *others = sorted(found.items())
    return [(first[0], [*first[1], *untyped]), *others]


def _best(answers: Iterable[Row]) -> dict[str, Any]:
    """The best evidence for a name: the first answer whose quote is in the list."""
    best = min(answers, key=lambda row: (not row["supported"], row["chunk"] or 0, row["position"]))
    kept = {column: best[column] for column in _FROM_LIST}
    return {**kept, "list_title": best["title"], "continuity": best["continuity"]}


def _other_names(name: str, answers: Iterable[Row]) -> list[str]:
    """Other names that are in the words quoted from the list; names that a model made up are left out."""
    names = {
        cleaned
        for answer in answers
        for alias in answer["aliases"]
        if answer["supported"]
        and (cleaned := clean_name(alias)).casefold() in answer["evidence"].casefold()
        and any(map(str.isalnum, cleaned))
    }
    return sorted(names - {name})


def _article_title(site: Site, name: str) -> str | None:
    """The title of an article of this name by MediaWiki's rules; the name itself if it can be no title."""
    try:
        parsed = site.parse_title(name)
    except InterwikiTitle:
        return None
    except InvalidTitle:
        return name
    if parsed.namespace != MAIN_NAMESPACE:
        return None
    return name if parsed.fragment is not None else parsed.title


def _unclear(found: Row) -> str | None:
    """Why a name means no entity."""
    if found["title"] is None:
        return "no_title"
    if found["to_section"] or found["is_other"]:
        return "no_entity"
    return "ambiguous" if found["method"] == "name" and found["has_page"] else None


def _row(name: Row, found: Row) -> dict[str, Any]:
    kept = {column: name[column] for column in (*_FROM_LIST, "list_title", "name", "aliases", "said_type")}
    key = "\x1f".join((name["source"], name["list_title"], name["name"], name["said_type"] or ""))
    return {
        **kept,
        "mention_id": content_hash(key),
        "entity_type": found["entity_type"],
        "means_title": found["title"],
        "means_key": title_key(name["source"], found["title"]),
        "method": found["method"],
        "continuity": found["continuity"] or name["continuity"],
    }


def _voted_types(rows: Iterable[Row]) -> dict[int, str]:
    """The type that most lists give to each title without a typed page; found quotes count first."""
    votes: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row["said_type"]:
            votes[row["means_key"]][row["said_type"]] += 1000 if row["supported"] else 1
    return {key: min(counted, key=lambda name: (-counted[name], name)) for key, counted in votes.items()}


def _candidate(mentions: Sequence[Row], confidence: MentionConfidence) -> dict[str, Any]:
    # By revisions, which a wiki numbers in order: a rebuilt lake has other batches.
    newest = max(mentions, key=lambda row: (row["revision_id"] or 0, row["list_title"], row["mention_id"]))
    continuities = {row["continuity"] for row in mentions} - {"unknown"}
    return {
        "source": newest["source"],
        "batch": newest["batch"],
        "title": newest["means_title"],
        "title_key": newest["means_key"],
        "page_id": None,
        "revision_id": newest["revision_id"],
        "entity_type": newest["entity_type"],
        "name": _name_of(newest),
        "continuity": continuities.pop() if len(continuities) == 1 else "both" if continuities else "unknown",
        "confidence": confidence.of(mentions),
        "method": "model",
        "rule_ids": [],
        "needs_review": not any(row["supported"] for row in mentions),
        "has_lead": False,
        "origin": "mention",
    }


def _name_of(mention: Row) -> str:
    """The name: without suffix and plural ending where the title is known, else as the list has it."""
    title = _SUFFIX.sub("", mention["means_title"])
    name: str = mention["name"]
    return title if name.casefold().startswith(title.casefold()) else name
