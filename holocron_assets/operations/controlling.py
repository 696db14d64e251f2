"""What people control by name: work that is held back, and what is tried again now."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from holocron_assets.crawl.frontier.requeue import requeue, retry_now
from holocron_assets.crawl.sources.files import source_names
from holocron_assets.decisions.controls import ALL, Hold, Scope, control, standing_controls
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.interrogations.unread import refuse_broken
from holocron_assets.errors import PermanentError
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.named_pages import find_files, find_pages
from holocron_assets.settings import sources_folder


class UnknownScopeError(PermanentError):
    """A control names nothing, several things, or an unknown one. The message says what to do."""


def named_scope(
    source: str | None, interrogation: str | None, *, everything: bool, controlled: Collection[Scope] = ()
) -> Scope:
    """The scope of a control.

    Args:
        source: a source's name.
        interrogation: an interrogation's name.
        everything: whether it is all work.
        controlled: scopes that may be named though their files are gone or broken; see `controlled_scopes`.

    Raises:
        UnknownScopeError: it names none or several things, or a thing that does not exist.
    """
    if sum((source is not None, interrogation is not None, everything)) != 1:
        raise UnknownScopeError("name one thing that it is about")
    if source is not None:
        scope = Scope("source", source)
        return scope if scope in controlled else Scope("source", known_source(source))
    if interrogation is not None:
        if (scope := Scope("interrogation", interrogation)) in controlled:
            return scope
        refuse_broken(interrogation)
        names = {one.name for one in load_interrogations()}
        return Scope("interrogation", _known(interrogation, "interrogation", names))
    return ALL


def controlled_scopes(lake: Lake) -> Collection[Scope]:
    """What people held back or ranked. They may take that back, whatever became of its file."""
    standing = standing_controls(lake)
    return standing.held.keys() | standing.priorities.keys()


def known_source(name: str) -> str:
    """The name of a source, even if its file cannot be read.

    Raises:
        UnknownScopeError: there is no such source.
    """
    return _known(name, "source", source_names(sources_folder()))


@dataclass(frozen=True)
class Controlled:
    """The result of holding work back, or of letting it go on.

    Attributes:
        scope: which work.
        is_new: whether anything was recorded; not if this counted already.
        hold: the hold of this scope that counts now.
        still_held: holds of other scopes that keep some of the same work back.
    """

    scope: Scope
    is_new: bool
    hold: Hold | None
    still_held: Sequence[Hold]


def hold_or_resume(lake: Lake, action: str, scope: Scope, *, author: str, reason: str) -> Controlled:
    """Record 'pause', 'drain' or 'resume' of some work.

    Raises:
        DecisionError: author or reason is missing or not readable.
    """
    row = control(lake, action, scope, author=author, reason=reason)
    held = standing_controls(lake).held
    others = [hold for hold in held.values() if hold.scope != scope and ALL in {scope, hold.scope}]
    return Controlled(scope, row is not None, held.get(scope), others)


@dataclass(frozen=True)
class TriedAgain:
    """What is tried again now.

    Attributes:
        requeued: titles that were given up, and have all their attempts again.
        due_now: source and title of what waited, and is due at once.
        unknown: titles of which nothing is known.
    """

    requeued: Sequence[str]
    due_now: Sequence[tuple[str, str]]
    unknown: Sequence[str]


def try_again(
    lake: Lake, *, source: str | None, titles: Sequence[str], author: str, reason: str
) -> TriedAgain:
    """Try again what was given up, and what waits; see `requeue` and `retry_now`.

    Args:
        lake: where it is recorded.
        source: only of this source.
        titles: pages, files or items; without any, everything that was given up.
        author: who decides.
        reason: why.
    """
    asked = sorted(set(titles))
    pages, files = find_pages(lake, asked, source), find_files(lake, asked, source)
    known = {title: pages[title] + files[title] for title in asked}
    names = {title: {title, *(name for _, name in found)} for title, found in known.items()}
    wanted = sorted({name for of_title in names.values() for name in of_title})
    rows = requeue(lake, source=source, titles=wanted or None, author=author, reason=reason)
    requeued = [row["title"] for row in rows]
    waiting = {title: found for title, found in known.items() if not names[title] & set(requeued)}
    due_now = [page for found in waiting.values() for page in found]
    retry_now(lake, due_now, author=author, reason=reason)
    return TriedAgain(requeued, due_now, [title for title, found in waiting.items() if not found])


def _known(name: str, kind: str, names: Collection[str]) -> str:
    if name in names:
        return name
    near = get_close_matches(name, names) or sorted(names)
    meant = f"did you mean {' or '.join(near)}?" if near else "there is none"
    raise UnknownScopeError(f"no {kind} is called {name!r}; {meant}")
