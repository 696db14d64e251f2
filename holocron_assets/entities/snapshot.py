"""One snapshot of the lake: the data that entities and their names are made from, read once for all types."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from importlib.resources import files
from typing import Protocol
from urllib.parse import urlsplit

import duckdb
import pyarrow as pa

from holocron_assets.decisions.log import Standing, standing
from holocron_assets.entities.identity.evidence.interlanguage import links_in
from holocron_assets.entities.identity.identity import Holders, holders_of
from holocron_assets.entities.identity.policy import shipped_policy, titles_in
from holocron_assets.entities.mentions.mentions import FoundMentions
from holocron_assets.entities.mentions.search import find_mentions
from holocron_assets.entities.names.aliases import Redirects, redirects_by_target
from holocron_assets.entities.names.first_titles import FirstTitles, first_titles
from holocron_assets.entities.people import People
from holocron_assets.entities.reviews import IN_DISPUTE, PageNow
from holocron_assets.lake.declaration.keys import content_hash, rows_mark_sql
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_footer
from holocron_assets.lake.files.rows import rows_of
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITIES,
    ENTITY_CANDIDATES,
    ENTITY_DEPARTURES,
    ENTITY_FACTS,
    ENTITY_RELATIONS,
    PAGE_FACTS,
    PAGE_LINKS,
    PAGE_SIGNALS,
    PAGE_TAGS,
    PAGE_TYPES,
    PAGES,
    SITES,
)
from holocron_assets.lake.views.database import connect, query
from holocron_assets.languages.language import known_languages, language_code

_ENTITIES_NOW = files(__package__).joinpath("snapshot.sql").read_text(encoding="utf-8")
_PAGES_NOW = files(__package__).joinpath("pages_now.sql").read_text(encoding="utf-8")
_READ = (
    *(PAGES, PAGE_SIGNALS, PAGE_LINKS, PAGE_FACTS, PAGE_TAGS, PAGE_TYPES, SITES),
    *(ENTITIES, ENTITY_CANDIDATES, ENTITY_FACTS, ENTITY_RELATIONS),
)
"""Tables that the queries on a snapshot read: a view of one takes a millisecond, and there are 60."""

_OF_CANDIDATE = """
    batch, title_key, page_id, revision_id, name, continuity, confidence, method, rule_ids, needs_review,
    has_lead
"""
_CANDIDATE_MARKS = f"""
    select entity_type, {rows_mark_sql(_OF_CANDIDATE)} as mark
    from present_candidates
    group by entity_type
"""  # noqa: S608 - a query of our own
# A redirect whose title is that of an entity of any type is no alias. It is left out here and so in the mark:
# when it becomes an alias, aliases are stale.
_REDIRECTS = """
    select source, from_title, target_title, revision_id
    from present_redirects
    where title_key not in (
        select title_key from ({entities}) where valid_to is null and state <> 'suppressed'
    )
"""
_REDIRECTS_MARK = f"""
    select {rows_mark_sql("source, from_title, target_title, revision_id")} as mark
    from ({{redirects}})
"""  # noqa: S608 - the same
_CHANGED = pa.schema(
    [
        ("entity_id", pa.string()),
        ("source", pa.string()),
        ("title_key", pa.int64()),
        ("page_id", pa.int64()),
    ]
)
_HELD_COLUMNS = (
    *("entity_id", "entity_type", "source", "title", "title_key", "page_id", "revision_id", "state"),
    *("confidence", "method", "origin", "review_reason", "review_since", "valid_from"),
)
# Not by the view of entities, for the reason given below.
_IN_DISPUTE = """
    select entity_type, title_key, page_id, review_reason
    from ({entities})
    where valid_to is null and contains(review_reason, $reason)
"""
_OF_PAGE = """
    source, title_key, page_id, revision_id, primary_type, confidence, method, model, learned_type
"""
_PAGES_MARK = f"""
    select {rows_mark_sql(_OF_PAGE)} as mark
    from lake.page_types as types
    semi join present_answers as present
        on types.batch = present.batch and types.title_key = present.title_key
    where types.title_key in (select unnest($titles)) or types.page_id in (select unnest($pages))
"""  # noqa: S608 - the same
# A page may have no standing entity while another type gives it up, or once that type's file was damaged.
# A row that its own type suppressed counts only if people said so.
_UNHELD = """
    with standing as (
        from ({entities}) as entities
        anti join ({departures}) as departures using (entity_id, entity_type, valid_from)
        where valid_to is null
    )
    select distinct entity_type
    from present_candidates as candidates
    where not exists (
        from standing
        where standing.title_key = candidates.title_key
            and standing.page_id is not distinct from candidates.page_id
            and (
                standing.state <> 'suppressed'
                or standing.entity_type = candidates.entity_type and standing.state_by like 'person:%'
            )
    )
    and not exists (
        from standing
        where standing.source = candidates.source
            and standing.page_id = candidates.page_id
            and standing.state <> 'suppressed'
    )
"""
_LEAVING = """
    select entity_type, entity_id
    from ({entities})
    semi join ({departures}) using (entity_id, entity_type, valid_from)
    where valid_to is null
"""
_NAMED_REDIRECTS = "select source, from_title, name, target_title, revision_id from present_redirects"
_STATED = """
    select facts.title_key, facts.source, facts.title as from_title, facts.revision_id,
        facts.kind, facts.key, facts.value, facts.target
    from lake.page_facts as facts
    semi join present_answers as present
        on facts.batch = present.batch and facts.title_key = present.title_key
    where facts.kind in ('name', 'external_id')
        or list_contains($singling_out, facts.key)
        or facts.kind = 'relation' and facts.target is not null and facts.title_key in (
            select title_key from lake.page_facts where kind = 'external_id'
        )
"""
_STATED_MARK = f"""
    select {rows_mark_sql("title_key, revision_id, kind, key, value, target")} as mark
    from ({_STATED})
"""  # noqa: S608 - a query of our own
_EDITORS_SAY = """
    select source, title_key, revision_id, merger_notices, interlanguage_links, categories
    from lake.page_signals as signals
    semi join present_answers as present
        on signals.batch = present.batch and signals.title_key = present.title_key
"""
_MERGER_NOTICES = f"""
    select title_key, list_concat(merger_notices, if(
        list_bool_or([regexp_full_match(category, $category, 'i') for category in categories]), [''], []
    )) as arguments
    from ({_EDITORS_SAY})
    where len(arguments) > 0
"""  # noqa: S608 - a query of our own
_INTERLANGUAGE_LINKS = f"""
    select source, title_key, interlanguage_links as found
    from ({_EDITORS_SAY})
    where len(found) > 0
"""  # noqa: S608 - the same
_EDITORS_MARK = f"""
    select {rows_mark_sql("title_key, revision_id, merger_notices, interlanguage_links")} as mark
    from ({_EDITORS_SAY})
    where len(merger_notices) > 0 or len(interlanguage_links) > 0
"""  # noqa: S608 - the same
_SITES = "select source, base_url, language from lake.sites"
_HELD = f"""
    select {", ".join(_HELD_COLUMNS)} from ({{entities}}) where valid_to is null
"""  # noqa: S608 - column names of our own
_OF_SOME = "and entity_id in (select unnest($ids::varchar[]))"

_TITLES_NOW = """
    select
        entity_type, entity_id,
        title_key_now(pages.title_key, entities.title_key, entities.page_id) as now_key
    from ({entities}) as entities
    left join present_pages as pages using (source, page_id)
    where valid_to is null and now_key is distinct from entities.title_key
    order by entity_id
"""


class Match(Protocol):
    """A type's candidates, matched with its entities."""

    def is_touched_by(self, changed: pa.Table) -> bool:
        """Whether any of some rows of another type's entities shares a page or an id with it."""
        ...


class Snapshot:
    """The data of the lake at one moment that entities are made from.

    Entities are resolved type by type from one snapshot: what is written meanwhile is added with
    `put_entities`.
    """

    def __init__(self, lake: Lake, connection: duckdb.DuckDBPyConnection) -> None:
        """Read through a connection in which `snapshot.sql` was run."""
        self.lake = lake
        self._connection = connection
        self._held: dict[str, Holders] = {}
        self._titles_now: dict[str, dict[str, int | None]] = {}
        self.matched: dict[str, Match] = {}  # by type, see `type_now`

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """A connection to the lake, with what `snapshot.sql` makes. Its views know no newer partition."""
        return self._connection

    @cached_property
    def candidate_marks(self) -> Mapping[str, str]:
        """A mark of each type's candidates, which changes with them."""
        pages = {row["entity_type"]: row["mark"] for row in query(self._connection, _CANDIDATE_MARKS)}
        mentions = self.mentions.marks
        return {name: f"{pages.get(name)} {mentions.get(name)}" for name in pages.keys() | mentions.keys()}

    @cached_property
    def mark(self) -> str:
        """A mark of all data that entities and their names are made from."""
        candidates = sorted(self.candidate_marks.items())
        return content_hash(f"{candidates} {self.names_mark} {self.redirects_mark} {self.people_mark}")

    @cached_property
    def mentions(self) -> FoundMentions:
        """The names on list pages, and what they mean."""
        return find_mentions(self._connection, self.lake)

    @cached_property
    def decisions(self) -> Standing:
        """What people decided."""
        return standing(self.lake)

    @cached_property
    def people(self) -> People:
        """What people decided about entities."""
        return People(self.decisions)

    @cached_property
    def people_mark(self) -> str:
        """A mark of what people decided about entities, as `people` knows it."""
        return self.decisions.mark("merge", "split", "promote", "suppress")

    @cached_property
    def wikis(self) -> Mapping[str, str]:
        """The place of each source's wiki: two sources of one wiki have the same place."""
        return {row["source"]: _place(row) for row in self._sites}

    @cached_property
    def languages(self) -> Mapping[str, str]:
        """The language that each source's wiki states; empty for a lake of one language."""
        stated = {row["source"]: language_code(row["language"]) for row in self._sites if row["language"]}
        return stated if len(set(stated.values())) > 1 else {}

    @cached_property
    def _sites(self) -> Sequence[Row]:
        return list(query(self._connection, _SITES))

    @cached_property
    def redirects_now(self) -> Redirects:
        """All redirects, by their target."""
        return redirects_by_target(query(self._connection, _NAMED_REDIRECTS))

    @cached_property
    def stated_names(self) -> Mapping[int, Sequence[Row]]:
        """Names and identifiers from pages and lists, and facts that single out, by title key.

        Rows have `kind`: 'name' (in the infobox), 'mention' (in a list), 'external_id', 'fact' or 'relation';
        with `key`, `value` and `target`.
        """
        rows: defaultdict[int, list[Row]] = defaultdict(list)
        for row in (*query(self._connection, _STATED, self._singling_out), *self._names_in_lists()):
            rows[row["title_key"]].append(row)
        return rows

    def _names_in_lists(self) -> Iterator[Row]:
        for row in (row for rows in self.mentions.rows.values() for row in rows if row["supported"]):
            place = {"title_key": row["means_key"], "source": row["source"], "from_title": row["list_title"]}
            mention = {"kind": "mention", "key": "", "target": None, "revision_id": row["revision_id"]}
            yield from ({**place, **mention, "value": name} for name in (row["name"], *row["aliases"]))

    @property
    def _singling_out(self) -> Mapping[str, Sequence[str]]:
        return {"singling_out": shipped_policy().within_one_wiki.fact_keys}

    @cached_property
    def merger_notices(self) -> Mapping[int, tuple[str, ...]]:
        """Titles that notices of editors propose to merge pages with, by the page's title key.

        An empty title stands for a notice that names none.
        """
        asked = {"category": shipped_policy().within_one_wiki.category_pattern}
        found: defaultdict[int, set[str]] = defaultdict(set)
        for row in query(self._connection, _MERGER_NOTICES, asked):
            found[row["title_key"]].update(titles_in(row["arguments"]))
        return {key: tuple(sorted(titles)) for key, titles in found.items()}

    @cached_property
    def interlanguage_links(self) -> Mapping[int, tuple[str, ...]]:
        """The addresses of the same page in other languages, by the page's title key."""
        if not self.languages:
            return {}
        known = known_languages() | set(self.languages.values())
        found: defaultdict[int, set[str]] = defaultdict(set)
        for row in query(self._connection, _INTERLANGUAGE_LINKS):
            own = self.languages.get(row["source"])  # a link to it leads to no other
            found[row["title_key"]].update(links_in(row["found"], known - {own}))
        return {key: tuple(sorted(links)) for key, links in found.items() if links}

    @cached_property
    def fact_readers(self) -> Mapping[str, str | None]:
        """The version of the code and rules that read the facts of each batch."""
        footers = {
            name: read_footer(self.lake, PAGE_FACTS, name) for name in self.lake.partitions(PAGE_FACTS)
        }
        return {name: footer.code_version for name, footer in footers.items() if footer}

    @cached_property
    def names_mark(self) -> str:
        """A mark of what is said of candidates beside their own rows, and of their wikis and languages."""
        redirects = query(self._connection, _REDIRECTS_MARK.format(redirects=_NAMED_REDIRECTS))
        stated = query(self._connection, _STATED_MARK, self._singling_out)
        editors = query(self._connection, _EDITORS_MARK)
        marks = [row["mark"] for row in (*redirects, *stated, *editors)]
        return f"{marks} {sorted(self.wikis.items())} {sorted(self.languages.items())}"

    @cached_property
    def pages_now(self) -> Mapping[tuple[str, str], PageNow]:
        """The present state of pages, by the type and id of the entities that were read from them."""
        return {
            (row["held_as"], row["entity_id"]): PageNow(row if row["title"] else None, row["was_absent"])
            for row in query(self._connection, _PAGES_NOW)
        }

    @cached_property
    def first_titles(self) -> FirstTitles:
        """The first known titles of moved pages."""
        return first_titles(self._connection)

    @cached_property
    def unheld(self) -> AbstractSet[str]:
        """Types with a page that certainly has that type, and for which no type has a standing entity."""
        rows = query(self._connection, self._by_departures(_UNHELD))
        return frozenset(row["entity_type"] for row in rows)

    @cached_property
    def leaving(self) -> Mapping[str, AbstractSet[str]]:
        """The ids of entities that each type gives up, while its file holds them as before."""
        by_type: defaultdict[str, set[str]] = defaultdict(set)
        for row in query(self._connection, self._by_departures(_LEAVING)):
            by_type[row["entity_type"]].add(row["entity_id"])
        return by_type

    def _by_departures(self, sql: str) -> str:
        tables = {"entities": ENTITIES, "departures": ENTITY_DEPARTURES}
        return sql.format(**{name: rows_of(self.lake, table) for name, table in tables.items()})

    def elsewhere(self, entity_type: str) -> list[Holders]:
        """Current rows of the entities of all other types; those that their type gives up are suppressed."""
        others = (name for name in self.lake.partitions(ENTITIES) if name != entity_type)
        return [self._holders(name) for name in others]

    @cached_property
    def redirects(self) -> Redirects:
        """Redirects that may give entities a name, by their target."""
        return redirects_by_target(query(self._connection, self._redirects))

    @cached_property
    def redirects_mark(self) -> str:
        """A mark of the redirects that may give entities a name, which changes with them."""
        mark: str = query(self._connection, _REDIRECTS_MARK.format(redirects=self._redirects))[0]["mark"]
        return mark

    def disputes_mark(self, rows: Iterable[Row]) -> str:
        """A mark of the present types of some entities' pages; empty if there are none."""
        titles, pages = list[int](), list[int]()
        for row in rows:
            titles.append(row["title_key"])
            pages += [] if row["page_id"] is None else [row["page_id"]]
        if not titles:
            return ""
        mark: str = query(self._connection, _PAGES_MARK, {"titles": titles, "pages": pages})[0]["mark"]
        return mark

    @cached_property
    def in_dispute(self) -> Mapping[str, list[Row]]:
        """The entities of each type whose page has another type now, but with less certainty."""
        sql = _IN_DISPUTE.format(entities=rows_of(self.lake, ENTITIES))
        by_type: defaultdict[str, list[Row]] = defaultdict(list)
        for row in query(self._connection, sql, {"reason": IN_DISPUTE}):
            by_type[row["entity_type"]].append(row)
        return by_type

    def standing_rows(self, entity_type: str, ids: AbstractSet[str] | None = None) -> list[Row]:
        """Current rows of a type's entities.

        Args:
            entity_type: the type.
            ids: only those with one of these ids; all by default.
        """
        sql = _HELD.format(entities=rows_of(self.lake, ENTITIES, [entity_type]))
        if ids is None:
            return list(query(self._connection, sql))
        return list(query(self._connection, f"{sql} {_OF_SOME}", {"ids": sorted(ids)}))

    def put_departures(self) -> None:
        """Read the departures from the files again, after one was written."""
        self._held.clear()
        self.matched.clear()
        for name in ("departing", "leaving", "unheld"):
            self.__dict__.pop(name, None)

    def put_entities(self, entity_type: str, changed: Sequence[Row]) -> None:
        """Read the entities of a type from its file again, after it was written.

        Args:
            entity_type: the type.
            changed: its rows that may have changed. Types that share no page and no id with them keep their
                matches.
        """
        self._held.pop(entity_type, None)
        self._titles_now.pop(entity_type, None)
        self.matched.pop(entity_type, None)
        rows = pa.Table.from_pylist(list(changed), schema=_CHANGED)
        for name in [name for name, match in self.matched.items() if match.is_touched_by(rows)]:
            del self.matched[name]
        for name in ("redirects", "redirects_mark", "in_dispute", "leaving", "unheld"):
            self.__dict__.pop(name, None)

    def titles_now(self, entity_type: str) -> Mapping[str, int | None]:
        """The title keys of a type's entities that are no longer at their own title, by id.

        What pages and redirects say of a title is said of the entity whose page is there; see `snapshot.sql`.

        Returns:
            The key of the title at which the entity's page is now; None if its page is gone and another page
            is at its title.
        """
        if entity_type not in self._titles_now:
            # At first of all types at once: the pages are as many as for one.
            names = [entity_type] if self._titles_now else self.lake.partitions(ENTITIES)
            self._titles_now |= {name: {} for name in (entity_type, *names)}
            for row in query(
                self._connection, _TITLES_NOW.format(entities=rows_of(self.lake, ENTITIES, names))
            ):
                self._titles_now[row["entity_type"]][row["entity_id"]] = row["now_key"]
        return self._titles_now[entity_type]

    @cached_property
    def departing(self) -> AbstractSet[tuple[str, str, datetime]]:
        """Entities that types give up: type, id, and the start of the row that is given up."""
        rows = query(self._connection, f"from ({rows_of(self.lake, ENTITY_DEPARTURES)})")
        return frozenset((row["entity_type"], row["entity_id"], row["valid_from"]) for row in rows)

    def _holders(self, entity_type: str) -> Holders:
        if entity_type not in self._held:
            rows = map(self._without_departing, self.standing_rows(entity_type))
            self._held[entity_type] = holders_of(rows)
        return self._held[entity_type]

    def gives_up(self, row: Row) -> bool:
        """Whether the type of an entity gives it up, by its current row."""
        return (row["entity_type"], row["entity_id"], row["valid_from"]) in self.departing

    def _without_departing(self, row: Row) -> Row:
        return {**row, "state": "suppressed"} if self.gives_up(row) else row

    @property
    def _redirects(self) -> str:
        # Not by a view: the connection's views were made when perhaps no entity was written yet.
        return _REDIRECTS.format(entities=rows_of(self.lake, ENTITIES))


def _place(site: Row) -> str:
    """The address of a wiki's pages, without scheme: each language of a host is a wiki of its own."""
    address = urlsplit(site["base_url"] or "")
    return f"{address.netloc}{address.path.rpartition('/')[0]}" or site["source"]


@contextmanager
def open_snapshot(lake: Lake) -> Iterator[Snapshot]:
    """Take a snapshot of the lake. It holds its memory until the block's end."""
    relations = ["current_answers", *(f"lake.{table.name}" for table in (*_READ, *lake.derived_tables))]
    with connect(lake, relations=relations, made_once=["page_outcomes"]) as connection:
        query(connection, _ENTITIES_NOW)
        yield Snapshot(lake, connection)
