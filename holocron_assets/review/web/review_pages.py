"""The pages of the queue: the list, one item with what helps to decide it, and the form to decide."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import chain
from typing import Any
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from holocron_assets.decisions.log import DecisionError, one_step
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES
from holocron_assets.review.choices import Choice, choices_of, choices_of_alike
from holocron_assets.review.entity_detail import has_queue
from holocron_assets.review.highlights import pieces
from holocron_assets.review.item_detail import ItemDetail, item_detail
from holocron_assets.review.past_decisions import who_decided
from holocron_assets.review.queue import (
    ASKED_KINDS,
    asked_now,
    asked_still,
    by_rank,
    fingerprint,
    read_questions,
    read_queue,
    settled_by,
)
from holocron_assets.review.web.desk import Desk, refuse_stale, see_other
from holocron_assets.review.web.guard import checked_form

_A_PAGE = 50


@dataclass(frozen=True)
class ReviewPages:
    """The pages of the queue."""

    desk: Desk

    def queue(self, request: Request) -> Response:
        """The queue, the most important first."""
        rows = read_questions(self.desk.lake)
        filters = filters_of(request.query_params)
        wanted = filtered(rows, filters)
        last = max(1, -(-len(wanted) // _A_PAGE))
        page = min(_number(request.query_params.get("page")), last)
        values = {
            "items": wanted[(page - 1) * _A_PAGE : page * _A_PAGE],
            "found": len(wanted),
            "first": (page - 1) * _A_PAGE + 1,
            "page": page,
            "last_page": last,
            "filters": filters,
            "kinds": _counts(filtered(rows, {**filters, "kind": ""}), "kind", ASKED_KINDS),
            "sources": _counts(filtered(rows, {**filters, "source": ""}), "source", ()),
            "emptiness": "" if rows else _emptiness(self.desk.lake),
        }
        return self.desk.show(request, "queue.html", values)

    def item(self, request: Request) -> Response:
        """One question: an item with everything that helps to decide it, or several that are alike."""
        if queue_again := self._asked_later(request):
            return see_other(queue_again)
        item, lake = self._open_item(request), self.desk.lake
        filters = filters_of(request.query_params)
        queue = filtered(read_questions(lake), filters)
        group = _group_of(lake, item)
        values = {
            "item": item,
            "group": group,
            "place": place_of(queue, item),
            "of": len(queue),
            "next_item": following(queue, item),
            "filters": filters,
        }
        if group is item:
            choices = choices_of_alike(lake, item, self.desk.types)
            return self.desk.show(
                request, "alike.html", {**values, **_offers(choices), "shown": fingerprint(item)}
            )
        detail = item_detail(lake, item)
        about = {
            "detail": detail,
            "texts": _texts(detail, is_whole="whole" in request.query_params),
            "warning": detail.warning,
            "shown": detail.fingerprint,
        }
        offers = _offers(choices_of(detail, self.desk.types))
        return self.desk.show(request, "item.html", {**values, **offers, **about})

    async def decide(self, request: Request) -> Response:
        """Record a decision, and go on to the next item."""
        form = await checked_form(request)
        return await run_in_threadpool(self._decided, request, form)

    async def undo(self, request: Request) -> Response:
        """Take a decision back."""
        form = await checked_form(request)
        return await run_in_threadpool(self.desk.undo, form)

    def _decided(self, request: Request, form: FormData) -> Response:
        lake, filters = self.desk.lake, filters_of(request.query_params)
        with one_step(lake):  # of two forms about one item, the second finds that it is open no more
            item = self._open_item(request)
            group = _group_of(lake, item)
            decision_id = self.desk.choose(form, self._choices(item, form))
            after = _after(lake, filters, item, group)
        address = address_of(after) if after else "/"
        wanted = _chosen(filters)
        back = f"{address_of(item)}?{urlencode(wanted)}" if wanted else address_of(item)
        given = urlencode({"done": decision_id, "back": back, **wanted})
        return self.desk.decided(form, f"{address}?{given}")

    def _choices(self, item: Row, form: FormData) -> list[Choice]:
        """The choices of a form; raises HTTPException if its question is another by now than was shown."""
        lake, types = self.desk.lake, self.desk.types
        if not item.get("members"):
            detail = item_detail(lake, item)
            refuse_stale(form, detail.fingerprint, "the item")
            return choices_of(detail, types)
        try:
            question = asked_still(lake, item["item_id"], str(form.get("shown", "")))
        except DecisionError as error:
            raise HTTPException(HTTPStatus.CONFLICT, f"Nothing was recorded: {error}.") from error
        return choices_of_alike(lake, question, types)

    def _asked_later(self, request: Request) -> str:
        """Where to go if an answer was taken back after the queue was made anew without its item; else ''."""
        taken_back, wanted = self.desk.taken_back(request), request.path_params["item_id"]
        lake = self.desk.lake
        if not taken_back or _found(lake, wanted) or settled_by(lake, wanted):
            return ""
        chosen = _chosen(filters_of(request.query_params))
        return f"/?{urlencode({**chosen, 'undone': taken_back.row['decision_id']})}"

    def _open_item(self, request: Request) -> Row:
        lake, wanted = self.desk.lake, request.path_params["item_id"]
        found = _found(lake, wanted)
        if found is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, _why_gone(lake, wanted))
        return found


def filters_of(given: QueryParams) -> dict[str, str]:
    """The filters of the queue that a person chose."""
    return {name: given.get(name, "") for name in ("kind", "source")}


def filtered(rows: Sequence[Row], filters: Mapping[str, str]) -> Sequence[Row]:
    """The rows that match every filter."""
    wanted = _chosen(filters)
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def place_of(queue: Sequence[Row], item: Row) -> int:
    """Place of an item in a queue, from 1. If the item is not in the queue, the place that it would have."""
    return 1 + sum(by_rank(row) < by_rank(item) for row in queue)


def following(queue: Sequence[Row], item: Row) -> Row | None:
    """The item after another one; after the last item the first one; None if no other is left."""
    others = [row for row in queue if row["item_id"] != item["item_id"]]
    later = (row for row in others if by_rank(row) > by_rank(item))
    return next(later, others[0] if others else None)


def address_of(item: Row) -> str:
    """The address of an item's page."""
    return f"/item/{quote(item['item_id'], safe='')}"


def _chosen(filters: Mapping[str, str]) -> dict[str, str]:
    """The filters that are set."""
    return {name: value for name, value in filters.items() if value}


def _found(lake: Lake, item_id: str) -> Row | None:
    """The open question or item of an id; None if there is none."""
    open_now = chain(read_questions(lake), read_queue(lake))
    return next((row for row in open_now if row["item_id"] == item_id), None)


def _group_of(lake: Lake, item: Row) -> Row | None:
    """The question about several items that an item belongs to, or that it is; None if there is none."""
    if item.get("members"):
        return item
    return next((row for row in read_questions(lake) if item in row["members"]), None)


def _after(lake: Lake, filters: Mapping[str, str], item: Row, group: Row | None) -> Row | None:
    """The question to ask after one was decided: of items that were alike, what is left of them.

    Args:
        lake: where the queue is, without what the decision settled.
        filters: those of the queue.
        item: the question that was decided.
        group: the question about several items that it belonged to, or that it was.
    """
    left = asked_now(lake, group) if group else []
    return left[0] if left else following(filtered(read_questions(lake), filters), item)


def _offers(choices: Sequence[Choice]) -> dict[str, Sequence[Choice]]:
    return {
        "offered": [choice for choice in choices if choice.key],
        "listed": [choice for choice in choices if choice.is_type],
    }


def _counts(rows: Sequence[Row], column: str, names: Sequence[str]) -> list[tuple[str, int]]:
    counts = Counter(row[column] for row in rows)
    return [(name, counts[name]) for name in names or sorted(counts) if counts[name]]


def _number(text: str | None) -> int:
    return max(int(text), 1) if text and text.isdecimal() and len(text) < len("1000000") else 1


def _texts(detail: ItemDetail, *, is_whole: bool) -> list[dict[str, Any]]:
    """Each page of an item, with its text in pieces."""
    return [
        {"page": page, "pieces": pieces(page.wikitext, detail.marks(page), is_whole=is_whole)}
        for page in detail.pages
    ]


def _why_gone(lake: Lake, item_id: str) -> str:
    if item_id.startswith("alike-"):
        return (
            "This question is not in the queue any more: fewer than two such items are open now, the "
            "machines say otherwise of them, or they are asked about one by one."
        )
    decision = settled_by(lake, item_id)
    if decision is None:
        return "This item is not in the queue: the machines have settled it, or it never was there."
    return f"This item is not in the queue any more. {who_decided(decision)}."


def _emptiness(lake: Lake) -> str:
    """Why the queue is empty: nothing was fetched, it was never made, or everything is decided."""
    if not lake.partitions(PAGES):
        return "no pages"
    return "all decided" if has_queue(lake) else "no queue"
