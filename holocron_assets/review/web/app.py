"""The web page as an application: its paths, and what it shows when something fails."""

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

from holocron_assets.loopback_guard import OwnMachineOnly
from holocron_assets.review.web.desk import Desk
from holocron_assets.review.web.entity_pages import EntityPages
from holocron_assets.review.web.guard import HEADERS
from holocron_assets.review.web.rendering import render
from holocron_assets.review.web.review_pages import ReviewPages

_STATIC = str(files("holocron_assets.review.web").joinpath("static"))

_OF_STARLETTE = {
    HTTPStatus.NOT_FOUND.phrase: "There is nothing at this address.",
    HTTPStatus.METHOD_NOT_ALLOWED.phrase: "This address does not take such a request. Nothing was recorded.",
}
"""What Starlette says on its own account, in our words."""


def make_app(desk: Desk, more: Sequence[BaseRoute] = ()) -> ASGIApp:
    """The application of the review page.

    Args:
        desk: what pages know.
        more: paths beside its own, as those of the faces for machines.
    """
    review, entities = ReviewPages(desk), EntityPages(desk)
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
            Route("/search", entities.search),
            Mount("/static", StaticFiles(directory=_STATIC)),
            *more,
        ],
        exception_handlers={HTTPException: _when_refused, Exception: _when_failed},
    )
    return OwnMachineOnly(app, HEADERS)  # outside of all, so that errors are sealed too


def _when_refused(request: Request, error: Exception) -> Response:
    status, told = HTTPStatus.NOT_FOUND, str(error)
    if isinstance(error, HTTPException):
        status, told = HTTPStatus(error.status_code), error.detail
    return _error_page(request, status, _OF_STARLETTE.get(told, told))


def _when_failed(request: Request, error: Exception) -> Response:
    told = f"{type(error).__name__}: {error}. The terminal has the whole of it."
    if request.method == "POST":  # it may have failed before or after
        told = f"{told} What you decided may have been recorded: see `holocron decisions list`."
    return _error_page(request, HTTPStatus.INTERNAL_SERVER_ERROR, told)


def _error_page(request: Request, status: HTTPStatus, told: str) -> Response:
    return render(request, "error.html", {"status": status, "told": told}, status)
