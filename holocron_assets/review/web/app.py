"""The review page as a web application: its paths, and its pages for errors."""

from collections.abc import Sequence
from http import HTTPStatus
from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from holocron_assets.loopback_guard import NOTHING_SHARED, OwnMachineOnly, Shared
from holocron_assets.review.web.desk import Desk
from holocron_assets.review.web.entity_pages import EntityPages
from holocron_assets.review.web.guard import HEADERS
from holocron_assets.review.web.rendering import render
from holocron_assets.review.web.review_pages import ReviewPages
from holocron_assets.review.web.search_pages import SearchPages
from holocron_assets.review.web.trial_pages import TrialPages
from holocron_assets.telemetry.masking import without_secrets

_STATIC = str(files("holocron_assets.review.web").joinpath("static"))

_OF_STARLETTE = {
    HTTPStatus.NOT_FOUND.phrase: "There is nothing at this address.",
    HTTPStatus.METHOD_NOT_ALLOWED.phrase: "This address does not take such a request. Nothing was recorded.",
}
"""Starlette's own messages, and ours instead."""


def make_app(
    desk: Desk,
    more: Sequence[BaseRoute] = (),
    shared: Shared = NOTHING_SHARED,
    token: str | None = None,
) -> ASGIApp:
    """The application of the review page.

    Args:
        desk: the data that all pages share.
        more: further paths, such as the endpoints for machines.
        shared: what pages of other programs on this machine may read.
        token: what each request must carry, where other machines may ask.
    """
    review, entities, trials = ReviewPages(desk), EntityPages(desk), TrialPages(desk)
    searches = SearchPages(desk)
    app = Starlette(
        routes=[
            Route("/", review.queue),
            Route("/item/{item_id}", review.item, methods=["GET"]),
            Route("/item/{item_id}", review.decide, methods=["POST"]),
            Route("/undo", review.undo, methods=["POST"]),
            Route("/entity/{entity_id}", entities.entity, methods=["GET"]),
            Route("/entity/{entity_id}", entities.decide, methods=["POST"]),
            Route("/page", entities.page),
            Route("/text/{batch}/{title_key}", entities.text),
            Route("/file/{sha256}", entities.file),
            Route("/search", searches.search),
            Route("/answer", searches.answer),
            Route("/trials", trials.trials),
            Route("/trials/{tag}", trials.trial),
            Mount("/static", StaticFiles(directory=_STATIC)),
            *more,
        ],
        exception_handlers={HTTPException: _when_refused, Exception: _when_failed},
    )
    # The outermost layer, so that error pages have the headers too.
    return OwnMachineOnly(app, HEADERS, shared, token)


def _when_refused(request: Request, error: Exception) -> Response:
    status, message = HTTPStatus.NOT_FOUND, str(error)
    if isinstance(error, HTTPException):
        status, message = HTTPStatus(error.status_code), error.detail
    return _error_page(request, status, _OF_STARLETTE.get(message, message))


def _when_failed(request: Request, error: Exception) -> Response:
    message = f"{type(error).__name__}: {without_secrets(str(error))}. The terminal shows the traceback."
    if request.method == "POST":  # it may have failed before or after recording
        message = f"{message} What you decided may have been recorded: see `holocron decisions list`."
    return _error_page(request, HTTPStatus.INTERNAL_SERVER_ERROR, message)


def _error_page(request: Request, status: HTTPStatus, message: str) -> Response:
    return render(request, "error.html", {"status": status, "message": message}, status)
