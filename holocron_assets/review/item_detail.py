"""Everything that helps a person to decide one item of the queue."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from holocron_assets.decisions.log import Standing, standing
from holocron_assets.entities.deciding import default_survivor, merge_warning
from holocron_assets.lake.declaration.keys import content_hash, title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import (
    ENTITY_JUDGEMENTS,
    FILES,
    PAGE_SIGNALS,
    PAGE_TYPES,
    PAGES,
    RULE_CLASSIFICATIONS,
    TRACEBACKS,
    TYPE_PREDICTIONS,
)
from holocron_assets.lake.views.database import connect, query
from holocron_assets.lake.views.named_pages import titles_there
from holocron_assets.review.highlights import Mark, apart, found_in
from holocron_assets.review.past_decisions import PastDecision, decisions_about, fingerprint_of
from holocron_assets.review.pictures import files_shown_by
from holocron_assets.review.reading import Reader, reading
from holocron_assets.review.statements import Statement, statements_of

_MODELS_ANSWERS = "derived_page_classification"
ENTITIES_OF_A_PAIR = 2
_TYPED_BY_TITLE = {"entity", "promotion"}
"""Kinds of items about an entity, of which a person may decide the type of its page."""
_TRACEBACKS = """
    select stage, title, error, traceback
    from tracebacks
    where split_part(item, '#', 1) in (select unnest($items))
    order by failed_at desc
"""


@dataclass(frozen=True)
class Page:
    """A page, and what rules and a model say about it.

    Attributes:
        row: its row of `pages`.
        signals: of `page_signals`.
        type: of `page_types`.
        rules: of `rule_classifications`.
        model: a model's answer, if one was asked.
        prediction: of `type_predictions`, if the rules leave its type open.
    """

    row: Row
    signals: Row | None
    type: Row | None
    rules: Row | None
    model: Row | None
    prediction: Row | None

    @property
    def wikitext(self) -> str:
        """The page's text."""
        return self.row["wikitext"] or ""

    @property
    def evidence(self) -> Sequence[Row]:
        """Each rule that fired, with its reason."""
        return self.rules["evidence"] if self.rules else ()


@dataclass(frozen=True)
class ItemDetail:
    """What is known about an item.

    Attributes:
        item: its row of `review_items`.
        entities: rows of the entities that it is about, the item's `entity_id` first.
        pages: the pages that these were read from; for an item about a page, that page.
        judgement: the judgement of a pair.
        statements: the statements that it is about.
        decisions: what people decided about any of it before.
        warning: what a person should know before merging its two entities, if anything.
        survivor_id: of two entities, the id that stays by default if they are merged.
        has_page: whether there is a page whose type can be decided.
        tracebacks: rows of view `tracebacks` about its page, its entities and the files that these show, the
            newest first.
    """

    item: Row
    entities: Sequence[Row] = ()
    pages: Sequence[Page] = ()
    judgement: Row | None = None
    statements: Sequence[Statement] = ()
    decisions: Sequence[PastDecision] = field(default=())
    warning: str | None = None
    survivor_id: str | None = None
    has_page: bool = True
    tracebacks: Sequence[Row] = ()

    @property
    def fingerprint(self) -> str:
        """A text that changes with the item's page, and with the decisions that count about any of it."""
        return content_hash(f"{self.item['page_id']} {fingerprint_of(self.decisions)}")

    def marks(self, page: Page) -> list[Mark]:
        """Evidence in the text of one of its pages, in order and apart."""
        text = page.wikitext
        if self.statements:
            return apart(_of_statements(self.statements, page), len(text))
        quotes = [(line["matched"], line["reason"]) for line in page.evidence]
        if self.item["kind"] == "pair":
            quotes = [(row["name"], "A name that is compared") for row in self.entities]
        return apart(found_in(text, quotes), len(text))


def item_detail(lake: Lake, item: Row) -> ItemDetail:
    """Look up everything that an item is about.

    Args:
        lake: where it is.
        item: a row of `review_items`.
    """
    decided = standing(lake)
    with reading(lake) as reader:
        entities = list(
            reader.entities([name for name in (item["entity_id"], item["other_id"]) if name]).values()
        )
        statements = _statements(reader, item, decided)
        return ItemDetail(
            item,
            entities,
            list(_pages(reader, item, entities, statements)),
            _judgement(reader, item),
            statements,
            decisions_about(
                lake,
                pages=[item, *entities],
                entity_ids=[row["entity_id"] for row in entities],
                statement_ids=item["statement_ids"],
            ),
            merge_warning(entities[0], entities[1], decided) if len(entities) == ENTITIES_OF_A_PAIR else None,
            default_survivor(entities, decided) if len(entities) == ENTITIES_OF_A_PAIR else None,
            item["kind"] not in _TYPED_BY_TITLE or have_pages(lake, entities),
            _tracebacks(reader, [item, *entities]),
        )


def have_pages(lake: Lake, entities: Sequence[Row]) -> bool:
    """Whether there is a page of each entity: one that only lists name may have none, and so gets no type.

    Args:
        lake: where pages are.
        entities: rows of `entities`, of one source.
    """
    listed = sorted({row["title"] for row in entities if row["origin"] != "page"})
    return not listed or titles_there(lake, entities[0]["source"], listed) >= set(listed)


def page_of(reader: Reader, batch: str, key: int) -> Page | None:
    """One page of a batch with what is said about it; None if the batch has no text of the page."""
    row = reader.page_row(PAGES, batch, key)
    if row is None:
        return None
    return Page(
        row,
        signals=reader.page_row(PAGE_SIGNALS, batch, key),
        type=reader.page_row(PAGE_TYPES, batch, key),
        rules=reader.page_row(RULE_CLASSIFICATIONS, batch, key),
        model=next(
            iter(reader.answers(_MODELS_ANSWERS, "title_key = $key", {"key": key}, within=[batch])), None
        ),
        prediction=reader.page_row(TYPE_PREDICTIONS, row["source"], key),
    )


def _statements(reader: Reader, item: Row, decided: Standing) -> list[Statement]:
    if not item["statement_ids"]:
        return []
    return statements_of(
        reader,
        "statement_id in (select unnest($ids))",
        {"ids": item["statement_ids"]},
        decided,
        within=[item["entity_type"]],
    )


def _judgement(reader: Reader, item: Row) -> Row | None:
    if item["kind"] != "pair":
        return None
    pair = {"pair": item["item_id"].removeprefix("pair-")}
    found = reader.find(ENTITY_JUDGEMENTS, "pair_id = $pair", pair, within=[item["entity_type"]])
    return found[0] if found else None


def _tracebacks(reader: Reader, about: Sequence[Row]) -> list[dict[str, Any]]:
    """The tracebacks of what failed and stands, of some pages and entities, and of files that they show."""
    lake, places = reader.lake, {row[name] for row in about for name in ("batch", "entity_type") if row[name]}
    scopes = lake.partitions(TRACEBACKS)
    of_files = any(lake.has(FILES, scope) for scope in scopes)
    files = [file for row in about for file in files_shown_by(reader, row)] if of_files else []
    if not files and not any(place in scope for scope in scopes for place in places):
        return []  # the view reads the outcomes of all pages
    items = {str(row[name]) for row in about for name in ("title_key", "entity_id") if row[name]}
    items.update(str(file["artifact_key"]) for file in files)
    with connect(lake, relations=["tracebacks"]) as connection:
        return query(connection, _TRACEBACKS, {"items": sorted(items)})


def _pages(
    reader: Reader, item: Row, entities: Sequence[Row], statements: Sequence[Statement]
) -> Iterator[Page]:
    """The item's own page first, then those of its entities and statements, each once."""
    about = entities if item["kind"] == "pair" else [statement.row for statement in statements]
    wanted = {(row["batch"], row["title_key"]): None for row in (item, *about)}
    for batch, key in wanted:
        page = page_of(reader, batch, key)
        if page:
            yield page


def _of_statements(statements: Sequence[Statement], page: Page) -> Iterator[Mark]:
    for statement in statements:
        row, label = statement.row, f"{statement.predicate}: {statement.value}"
        if row["title_key"] != title_key(page.row["source"], page.row["title"]):
            continue
        if row["evidence_start"] is not None and row["evidence_end"] is not None:
            yield Mark(row["evidence_start"], row["evidence_end"], label)
        else:
            yield from found_in(page.wikitext, [(row["evidence"], label)])
