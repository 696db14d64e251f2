"""The pages of entities: one entity with the origin of every part, and a page's text."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import chain
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from holocron_assets.decisions.log import one_step, standing
from holocron_assets.entities.deciding import kinds_for_entity, kinds_for_statement
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.place.paths import Lake, PartitionNameError
from holocron_assets.lake.views.named_pages import batch_of, find_page
from holocron_assets.review.choices import (
    Choice,
    split_choice,
    state_choices,
    statement_choices,
    type_choices,
)
from holocron_assets.review.claims import claims
from holocron_assets.review.entity_detail import EntityDetail, entity_detail, entity_titled
from holocron_assets.review.highlights import Mark, apart, found_in, pieces
from holocron_assets.review.item_detail import have_pages, page_of
from holocron_assets.review.pictures import SHOWN_TYPES, file_of
from holocron_assets.review.queue import item_titled
from holocron_assets.review.reading import reading
from holocron_assets.review.statements import by_predicate
from holocron_assets.review.web.desk import Desk, refuse_stale
from holocron_assets.review.web.guard import checked_form
from holocron_assets.review.web.relation_graph import relation_graph
from holocron_assets.review.web.review_pages import address_of

_TITLE_KEYS = range(-(2**63), 2**63)
"""Whole numbers of 64 bits: DuckDB cannot compare others to a key."""
_MOST_DIGITS = 9
"""Of a place in a text. Python makes no number of thousands of digits."""


@dataclass(frozen=True)
class EntityPages:
    """The pages of entities."""

    desk: Desk

    def entity(self, request: Request) -> Response:
        """One entity. The id of a merged one redirects to the entity that it was merged into."""
        detail = self._detail(request)
        survivor = detail.entity["merged_into"]
        if survivor:
            return RedirectResponse(f"/entity/{quote(survivor)}?was={quote(detail.entity['entity_id'])}")
        choices = self._choices(detail)
        values = {
            "detail": detail,
            "entity": detail.entity,
            "was": _member_named(detail, request.query_params.get("was")),
            "offered": [choice for choice in choices if choice.kind in {"promote", "suppress"}],
            "listed": [choice for choice in choices if choice.is_type],
            "splits": {choice.about["one"]: choice for choice in choices if choice.kind == "split"},
            "verdicts": _verdicts(choices),
            **_statements(detail),
        }
        return self.desk.show(request, "entity.html", values)

    async def decide(self, request: Request) -> Response:
        """Record a decision about an entity, or about a statement of it."""
        form = await checked_form(request)
        return await run_in_threadpool(self._decided, request, form)

    def page(self, request: Request) -> Response:
        """Redirect from a page's title to its entity, or to its item in the queue, or to its text.

        Any of them whose title is exactly the one asked for wins over those with other capitals.
        """
        title = unicodedata.normalize("NFC", request.query_params.get("title", "").replace("_", " ").strip())
        source = request.query_params.get("source") or None
        alike = None
        for found, address in _places_titled(self.desk.lake, title, source):
            if found == title:
                return RedirectResponse(address)
            alike = alike or address
        if alike:
            return RedirectResponse(alike)
        raise HTTPException(
            HTTPStatus.NOT_FOUND,
            f"No page called {title!r} was read. Search by part of its name, or see `holocron page`.",
        )

    def text(self, request: Request) -> Response:
        """A page's text as it was read, with some words of it marked, or those between two offsets."""
        batch, key = request.path_params["batch"], request.path_params["title_key"]
        words = request.query_params.get("words", "")
        try:
            number = int(key)
            with reading(self.desk.lake) as reader:
                page = page_of(reader, batch, number) if number in _TITLE_KEYS else None
        except (PartitionNameError, ValueError):
            page = None
        if page is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, f"Batch {batch!r} has no text of such a page.")
        asked = request.query_params
        start, end = (asked.get(name, "") for name in ("start", "end"))
        label = "What was read here"
        if all(place.isdecimal() and len(place) <= _MOST_DIGITS for place in (start, end)):
            marks = [Mark(int(start), int(end), label)]
        else:
            marks = found_in(page.wikitext, [(words, label)])
        shown = pieces(page.wikitext, apart(marks, len(page.wikitext)), is_whole="whole" in asked)
        return self.desk.show(request, "text.html", {"page": page, "pieces": shown, "asked": dict(asked)})

    def file(self, request: Request) -> Response:
        """The bytes of a file: a picture that a browser draws safely is shown, anything else is saved."""
        sha256 = request.path_params["sha256"]
        with reading(self.desk.lake) as reader:
            file = file_of(reader, sha256)
        if file is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, "The lake holds no such file.")
        try:
            path = FileStore(self.desk.lake).bring(sha256)
        except FileNotFoundError as error:
            raise HTTPException(HTTPStatus.NOT_FOUND, f"{error}.") from error
        is_picture = file["mime"] in SHOWN_TYPES
        return FileResponse(
            path,
            media_type=file["mime"] if is_picture else "application/octet-stream",
            filename=file["name"].rpartition("/")[2].rpartition(":")[2],
            content_disposition_type="inline" if is_picture else "attachment",
        )

    def _detail(self, request: Request) -> EntityDetail:
        detail = entity_detail(self.desk.lake, request.path_params["entity_id"])
        if detail is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, "There is no entity of this id. Search for it by name.")
        return detail

    def _choices(self, detail: EntityDetail) -> list[Choice]:
        """What can be decided about an entity and its statements now."""
        stands, entity = standing(self.desk.lake), detail.entity
        possible = kinds_for_entity(self.desk.lake, entity)
        states = [choice for choice in state_choices(entity) if choice.kind in possible]
        splits = [split_choice(member.entity, entity) for member in detail.members]
        verdicts = chain.from_iterable(map(statement_choices, detail.statements))
        return [
            *states,
            *(_types(detail, self.desk.types) if have_pages(self.desk.lake, [entity]) else ()),
            *splits,
            *(
                choice
                for choice in verdicts
                if choice.kind in kinds_for_statement(choice.about["statement_id"], stands)
            ),
        ]

    def _decided(self, request: Request, form: FormData) -> Response:
        with one_step(self.desk.lake):  # of two equal forms, the second finds that it is decided
            detail = self._detail(request)
            refuse_stale(form, detail.fingerprint, "the entity")
            decision_id = self.desk.choose(form, self._choices(detail))
        return self.desk.decided(form, f"/entity/{quote(detail.entity['entity_id'])}?done={decision_id}")


def _places_titled(lake: Lake, title: str, source: str | None) -> Iterator[tuple[str, str]]:
    """The title and address of each place where a title may lead to, in any capitals."""
    if entity := entity_titled(lake, title, source):
        yield entity["title"], f"/entity/{quote(entity['entity_id'])}"
    if item := item_titled(lake, title, source):
        yield item["title"], address_of(item)
    for page in find_page(lake, title, source):
        key = title_key(*page)
        if batch := batch_of(lake, key):
            yield page[1], f"/text/{quote(batch)}/{key}"


def _types(detail: EntityDetail, types: Sequence[str]) -> list[Choice]:
    """A choice for each type that people did not decide already."""
    said = (made.row for made in detail.decisions if made.row["kind"] == "classify" and not made.is_undone)
    last = next(said, None)
    choices = type_choices(detail.entity, None, types)
    return [choice for choice in choices if last is None or choice.label != last["value"]]


def _member_named(detail: EntityDetail, entity_id: str | None) -> str | None:
    """Title of the member with an id; None if there is none."""
    titles = {member.entity["entity_id"]: member.entity["title"] for member in detail.members}
    return titles.get(entity_id)


def _statements(detail: EntityDetail) -> dict[str, Any]:
    """What the page shows of an entity's statements, and of others that name it."""
    entity, open_ids = detail.entity, detail.open_ids
    of_others = by_predicate(detail.relations_to)
    return {
        "facts": claims(detail.facts, open_ids),
        "relations": claims(detail.relations, open_ids),
        "of_others": claims(of_others, open_ids, of_others=True),
        "not_stated": {
            status: claims(by_predicate(statements), open_ids) for status, statements in detail.others.items()
        },
        "graph": relation_graph(
            entity["name"],
            entity["entity_id"],
            chain.from_iterable(detail.relations.values()),
            detail.relations_to,
        ),
    }


def _verdicts(choices: list[Choice]) -> dict[str, list[Choice]]:
    """The possible choices of accepting and rejecting, by statement."""
    found: dict[str, list[Choice]] = {}
    for choice in choices:
        if "statement_id" in choice.about:
            found.setdefault(choice.about["statement_id"], []).append(choice)
    return found
