"""What all web pages share: the lake, the person, and how a form becomes a decision."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holocron_assets.decisions.log import DecisionError
from holocron_assets.entities.deciding import decide_undo_of_answer
from holocron_assets.lake.place.paths import Lake
from holocron_assets.review.choices import Choice, decide
from holocron_assets.review.past_decisions import PastDecision, decision_of
from holocron_assets.review.queue import read_questions, settled_with
from holocron_assets.review.web.rendering import render

_AUTHOR = "holocron-author"
_FROM_THE_LIST = "type"
"""Name of the button that submits the choice in the list of types."""


@dataclass(frozen=True)
class Desk:
    """What the review pages need.

    Attributes:
        lake: the lake to read, and to record decisions in.
        author: who decides, unless a form says otherwise.
        types: the taxonomy's types.
    """

    lake: Lake
    author: str
    types: Sequence[str]

    def show(
        self, request: Request, template: str, values: Mapping[str, Any], status: int = HTTPStatus.OK
    ) -> Response:
        """Render a page with the values that all pages share."""
        done = self._named_decision(request, "done")
        shared = {
            "author": unquote(request.cookies.get(_AUTHOR, "")) or self.author,
            "open_items": len(read_questions(self.lake)),
            "done": done,
            "settled": settled_with(self.lake, done.row["decision_id"]) if done else "",
            "undone": self.taken_back(request),
            "here": request.url.path,
            "back": request.query_params.get("back", request.url.path),
        }
        return render(request, template, {**shared, **values}, status)

    def choose(self, form: FormData, choices: Iterable[Choice]) -> str:
        """Record the choice of a form; returns the decision's id.

        Raises:
            HTTPException: the form's choice is none of the choices, or it is refused.
        """
        name = str(form.get("choice", ""))
        wanted = str(form.get("type", "")) if name == _FROM_THE_LIST else name
        choice = next((choice for choice in choices if choice.name == wanted), None)
        if choice is None:
            problem = (
                "Choose a type in the list first."
                if name == _FROM_THE_LIST and not wanted
                else "That cannot be decided here."
            )
            raise HTTPException(HTTPStatus.BAD_REQUEST, f"{problem} Nothing was recorded.")
        reason = str(form.get("reason", "")).strip() or choice.reason
        try:
            row = decide(self.lake, choice, author=self._author_of(form), reason=reason)
        except DecisionError as error:
            raise HTTPException(HTTPStatus.CONFLICT, f"Nothing was recorded: {error}.") from error
        return str(row["decision_id"])

    def undo(self, form: FormData) -> Response:
        """Take back the answer whose decision a form names, and go back to where it was made."""
        decision_id, back = str(form.get("decision", "")), str(form.get("back", "/"))
        try:
            decide_undo_of_answer(
                self.lake, decision_id, author=self._author_of(form), reason="Taken back on the review page"
            )
        except DecisionError as error:
            raise HTTPException(HTTPStatus.CONFLICT, f"Nothing was undone: {error}.") from error
        # Only a path on this site: `//elsewhere` would lead to another site.
        own = back if back.startswith("/") and not back.startswith(("//", "/\\")) else "/"
        path, _, query = own.partition("?")
        return see_other(f"{path}?{urlencode([*parse_qsl(query), ('undone', decision_id)])}")

    def decided(self, form: FormData, address: str) -> Response:
        """Redirect after a form was recorded, and remember its author in a cookie."""
        response = see_other(address)
        # Quoted, since a header may only hold Latin-1.
        response.set_cookie(_AUTHOR, quote(self._author_of(form)), httponly=True, samesite="lax")
        return response

    def taken_back(self, request: Request) -> PastDecision | None:
        """The decision that the address says was taken back; None if none was."""
        decision = self._named_decision(request, "undone")
        return decision if decision and decision.is_undone else None

    def _author_of(self, form: FormData) -> str:
        """The author that a form names."""
        return str(form.get("author", "")).strip() or self.author

    def _named_decision(self, request: Request, name: str) -> PastDecision | None:
        decision_id = request.query_params.get(name)
        return decision_of(self.lake, decision_id) if decision_id else None


def refuse_stale(form: FormData, fingerprint: str, what: str) -> None:
    """Raise HTTPException if a form was shown before what it is about changed.

    Args:
        form: it names the fingerprint that it was shown with.
        fingerprint: what it is about has this one now.
        what: what it is about, for the message.
    """
    if form.get("shown") != fingerprint:
        raise HTTPException(
            HTTPStatus.CONFLICT,
            f"Nothing was recorded: {what}, or what people decided about it or its statements, "
            "changed since this page was shown. Look at it again, then decide.",
        )


def see_other(address: str) -> RedirectResponse:
    """Send the browser to another page after a form, so that loading that page again decides nothing."""
    return RedirectResponse(address, HTTPStatus.SEE_OTHER)
