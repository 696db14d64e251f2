"""Why a page was fetched, or was not, or is not yet."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holocron_assets.crawl.frontier.views import frontier_tables_of
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.source import Source
from holocron_assets.crawl.sources.standing import left_alone
from holocron_assets.decisions.controls import standing_controls
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGES
from holocron_assets.lake.views.database import connect, query
from holocron_assets.operations.why.answers import NOTHING_KNOWN, Answer, Topics, at, named, not_served_yet

_BEFORE = """
    with pending as (
        select title_key, row(reason <> 'changed', reported_at, ordinal, -inbound, title) as place
        from frontier
        where status = 'pending' and source = $source
    )
    select count(*) as pages
    from pending
    where place < (select place from pending where title_key = $key)
"""
"""How many pages are cut before one, in the order of `crawl.frontier.pending_pages`; nulls come last."""

_LINKED_BY = """
    select from_title from page_links where target_key = $key order by from_title limit 3
"""
_REASONS = {
    "new": "It was not fetched yet.",
    "changed": "The wiki reported a change.",
    "retry": "It failed, and is due again.",
    "requeue": "A person requeued it.",
}


@dataclass(frozen=True)
class Page:
    """A page that is asked about.

    Attributes:
        source: its source.
        title: its canonical title.
        key: its title key.
        topics: the known rows about it.
    """

    source: Source
    title: str
    key: int
    topics: Topics

    @property
    def fetch_command(self) -> str:
        """The command that fetches it now, before all other work."""
        return f"holocron crawl --source {self.source.name} --title {named(self.title)}"

    @property
    def requeue_command(self) -> str:
        """The command that requeues all that was given up of it."""
        return f"holocron requeue --source {self.source.name} --title {named(self.title)} --reason WHY"


def why_fetched(lake: Lake, page: Page, politeness_folder: Path) -> Answer:
    """Why a page was fetched, or was not, or not yet.

    Args:
        lake: the lake.
        page: the page.
        politeness_folder: shared state of processes about hosts.
    """
    frontier = page.topics["frontier"][0] if page.topics["frontier"] else {"status": "unknown"}
    match frontier["status"]:
        case "unknown":
            answer = Answer("fetched", NOTHING_KNOWN, commands=_fetching(page))
        case "done":
            answer = _done(page)
        case "in flight":
            answer = _in_flight(lake, page, politeness_folder)
        case "pending":
            answer = _pending(lake, page, frontier, politeness_folder)
        case "waiting":
            answer = _waiting(page, frontier)
        case "dead":
            answer = _dead(page, frontier)
        case _:
            answer = _skipped(lake, page, frontier)
    return answer


def _fetching(page: Page) -> tuple[str, ...]:
    """The command that fetches the page at once; for a dump there is none."""
    return (page.fetch_command,) if page.source.kind == "mediawiki_api" else ()


def _done(page: Page) -> Answer:
    last = page.topics["revisions"][-1]
    batch = page.topics["batches"][-1] if page.topics["batches"] else None
    says = {
        "missing": "The wiki has no such page.",
        "invalid": f"The wiki says that it is no valid title: {last['error']}.",
    }.get(last["status"], f"It was fetched: revision {last['revision_id']}.")
    because = [f"asked for in batch {batch['batch']}, as {batch['reason']}"] if batch else []
    because.append(f"the answer came at {at(last['fetched_at'])}")
    return Answer("fetched", says, tuple(because), _fetching(page))


def _in_flight(lake: Lake, page: Page, politeness_folder: Path) -> Answer:
    batch = page.topics["batches"][-1]
    says = f"It is in batch {batch['batch']}, which was cut at {at(batch['cut_at'])} and is not finished."
    in_the_way, commands = obstacles(lake, page.source, politeness_folder)
    again = f"holocron launch crawl_batch --partition {batch['batch']}"
    return Answer("fetched", says, in_the_way, (*commands, again))


def _pending(lake: Lake, page: Page, frontier: Mapping[str, Any], politeness_folder: Path) -> Answer:
    with connect(lake, relations=(), more_views=frontier_tables_of(lake, [page.source])) as connection:
        [before] = query(connection, _BEFORE, {"key": page.key, "source": page.source.name})
    pages, size = before["pages"], page.source.batch_size
    in_the_way, commands = obstacles(lake, page.source, politeness_folder)
    turn = f"{pages} pages of its source come before it, so it is in batch {pages // size + 1} from now on"
    says = f"{_REASONS[frontier['reason']]} It waits for its turn."
    return Answer("fetched", says, (*in_the_way, turn), (*commands, *_fetching(page)))


def _waiting(page: Page, frontier: Mapping[str, Any]) -> Answer:
    if frontier["reason"] == "changed":
        return Answer("fetched", not_served_yet(frontier["due_at"]), commands=_fetching(page))
    attempts = page.topics["revisions"][-1]["attempts"]
    often = "once" if attempts == 1 else f"{attempts} times"
    says = f"It failed {often}, and is due again at {at(frontier['due_at'])}: {frontier['reason']}."
    answer = Answer("fetched", says, commands=_fetching(page))
    return answer.with_tracebacks(page.topics, [PAGES.name])


def _dead(page: Page, frontier: Mapping[str, Any]) -> Answer:
    attempts = page.topics["revisions"][-1]["attempts"]
    says = f"It was given up after {attempts} attempts: {frontier['reason']}."
    answer = Answer("fetched", says, commands=(page.requeue_command,))
    return answer.with_tracebacks(page.topics, [PAGES.name])


def _skipped(lake: Lake, page: Page, frontier: Mapping[str, Any]) -> Answer:
    """Why it is not wanted, who links to it, and the key of the source file that says so."""
    reason = frontier["reason"]
    keys = {"namespace": "namespaces", "no pattern": "include", "a pattern": "exclude", "more than": "depth"}
    key = next((name for start, name in keys.items() if reason.startswith(start)), None)
    because = []
    if key:
        because.append(f"key `{key}` of the source file of {page.source.name} says so")
    with connect(lake, relations=["page_links"]) as connection:
        links = [row["from_title"] for row in query(connection, _LINKED_BY, {"key": page.key})]
    if links:
        because.append(f"{frontier['inbound']} pages link to it, such as {', '.join(links)}")
    return Answer("fetched", f"It is not asked for: {reason}.", tuple(because), _fetching(page))


def obstacles(
    lake: Lake, source: Source | FileSource, politeness_folder: Path
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Why a source is not asked now, and the commands that change it."""
    now = utc_now()
    reasons, commands = [], []
    if not source.enabled:
        reasons.append(f"source {source.name} is switched off, so nothing asks for it by itself")
        commands.append(f"holocron sources enable {source.name}")
    hold = standing_controls(lake).holds(source=source.name)
    if hold:
        reasons.append(str(hold))
        commands += [] if hold.ends else [hold.resume]
    reasons += left_alone([source], politeness_folder, now).values()
    return tuple(reasons), tuple(commands)


def why_given_up(page: Page) -> list[Answer]:
    """What was given up for a page that was fetched: a step could not read it, or no model answered."""
    lost = [letter for letter in page.topics["dead_letters"] if letter["stage"] != PAGES.name]
    if not lost:
        return []
    line = "{stage}, after {attempts} attempts: {error}"
    because = [line.format_map(letter) for letter in lost]
    answer = Answer("given up", "Some of it was given up.", tuple(because), (page.requeue_command,))
    return [answer.with_tracebacks(page.topics, [letter["stage"] for letter in lost])]
