"""What Holocron promises, in sets and dicts: no lake, no Dagster, no files.

What a run has to make of a wiki follows from its pages, what the lake knew before, and what people decided.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal

TITLES = ("Brenna", "Ostrov", "Quill", "Vetch", "Marrow", "Thistle", "Undine")
EMBLEM = "a red hand"
SURE = 0.80
SAYS = ("LocationPlace", "Concept", "Species")
"""What the recorded model says of vague pages, by wording of the question and edition of the page."""

TABLES_OF_A_WIKI = ("pages", "batch_pages", "seed_titles", "page_changes", "change_looks", "known_links")
"""What is made again by asking the wiki."""

Kind = Literal["pilot", "planet", "starship", "vague"]
TEXTS: Mapping[str, str] = {
    "pilot": f"{{{{Character|species=human|emblem={EMBLEM}}}}}\n'''NAME''' was a female human pilot.",
    "planet": "{{Planet}}\n'''NAME''' is a cold planet.",
    "starship": "{{Starship}}\n'''NAME''' was a starship.",
    "vague": "'''NAME''' came and went.",
}
BY_RULES: Mapping[str, tuple[str, float]] = {
    "pilot": ("PersonCharacter", 0.99),
    "planet": ("LocationPlace", 0.93),
    "starship": ("VehicleCraft", 0.92),
}
DECIDED = ("PersonCharacter", "LocationPlace", "Organization", "ReferenceMeta")
NO_ENTITIES = ("ReferenceMeta", "Unknown")
LOST = "lost"
"""The state of an entity whose row was in a damaged file, and that no page stands for."""
BY_MODEL = 0.55
"""What the recorded model's answer is worth where rules know nothing."""


@dataclass(frozen=True)
class Page:
    """A page as it stands: a revision of it. A redirect has a target."""

    page_id: int
    revision: int
    born: str
    kind: Kind = "vague"
    edition: int = 0
    links: tuple[str, ...] = ()
    target: str | None = None

    @property
    def text(self) -> str:
        if self.target:
            return f"#REDIRECT [[{self.target}]]"
        links = "".join(f" See [[{title}]]." for title in self.links)
        return f"{TEXTS[self.kind].replace('NAME', self.born)} Edition {self.edition}.{links}"


@dataclass(frozen=True)
class Typed:
    """The type that counts for a page, and whose answer it is."""

    type: str
    confidence: float
    method: str


@dataclass
class Entity:
    """One thing, by the page that it was last read from. `identifier` is learnt when it is first seen."""

    page_id: int
    title: str
    typed: Typed
    state: str
    identifier: str | None = None


@dataclass(frozen=True)
class Decision:
    """What a person said. An undo names the decision that it undoes."""

    identifier: str
    kind: str
    subject: str
    value: str = ""


@dataclass
class Lake:
    """What a lake knows, as of the last run that came to its end.

    Attributes:
        pages: what it holds, by title.
        asked: titles that were ever asked for.
        touched: titles that something happened to since.
        entities: all that ever stood.
        decisions: all, in the order of their time.
        answered: the prompts that the model answered.
        again: titles whose answers were in a damaged file.
    """

    pages: dict[str, Page] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    entities: list[Entity] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)
    again: set[str] = field(default_factory=set)

    @property
    def undone(self) -> set[str]:
        """The decisions that a counting decision undoes."""
        gone: set[str] = set()
        for one in reversed(self.decisions):
            if one.kind == "undo" and one.identifier not in gone:
                gone.add(one.subject)
        return gone

    @property
    def standing(self) -> list[Decision]:
        """The decisions that count, in order."""
        gone = self.undone
        return [one for one in self.decisions if one.kind != "undo" and one.identifier not in gone]

    def decided_type(self, title: str) -> str | None:
        found = [one.value for one in self.standing if (one.subject, one.kind) == (title, "classify")]
        return found[-1] if found else None

    def decided_state(self, identifier: str | None) -> str | None:
        """`promote` or `suppress`, if a person said so of an entity."""
        last = [one.kind for one in self.standing if one.subject == identifier and one.kind != "classify"]
        return last[-1] if last else None

    def add(self, decisions: Iterable[Decision]) -> None:
        """Take in decisions, each once; they count in the order of their time, with which an id begins."""
        every = {one.identifier: one for one in (*self.decisions, *decisions)}
        self.decisions = [every[identifier] for identifier in sorted(every)]


@dataclass
class Model:
    """What Holocron has to know of a wiki, whose pages are given by title."""

    wiki: Mapping[str, Page]
    lake: Lake = field(default_factory=Lake)
    backup: Lake | None = None
    exported: Sequence[Decision] = ()
    question: int = 0
    rule: int = 0
    moved: bool = False

    def touch(self, *titles: str) -> None:
        """A change is reported to a lake that is there, and to one that a backup brings back."""
        for lake in filter(None, (self.lake, self.backup)):
            lake.touched.update(titles)

    # --- what a run asks for

    def must_fetch(self) -> set[str]:
        """Titles that differ between wiki and lake, and those that are linked and were never asked for."""
        known = {title: page.revision for title, page in self.lake.pages.items()}
        now = {title: page.revision for title, page in self.wiki.items()}
        changed = {title for title in known.keys() | now.keys() if known.get(title) != now.get(title)}
        linked = {
            target for title, page in self.wiki.items() for target in [page.target or title, *page.links]
        }
        return changed | (linked - self.lake.asked)

    def fetch_problems(self, fetched: Counter[str], *, kills: int) -> Iterator[str]:
        """What is wrong with the titles that a run asked for; at each kill, some were under way."""
        must, again = self.must_fetch(), self.lake.again
        may = must | self.lake.touched | again
        for title in sorted(must - fetched.keys()):
            yield f"{title} was not asked for, though the lake does not hold what the wiki has"
        for title, times in sorted(fetched.items()):
            if title not in may:
                yield f"{title} was asked for, though nothing happened to it"
            elif times > 1 + kills + (title in again):
                yield f"{title} was asked for {times} times, though the run was killed {kills} times"

    def answer_problems(self, prompts: Sequence[str], *, kills: int, slots: int) -> Iterator[str]:
        """What is wrong with the questions that a run put to the model; see `fetch_problems`."""
        again = len(prompts) - len(set(prompts) - self.lake.answered)
        if again > kills * slots:
            yield f"{again} questions were asked again, though the run was killed {kills} times"

    # --- what a run makes of it

    def ran(self, prompts: Iterable[str]) -> None:
        """A run came to its end."""
        lake = self.lake
        lake.asked |= self.must_fetch() | lake.touched
        lake.pages = dict(self.wiki)
        lake.touched.clear()
        lake.again.clear()
        lake.answered.update(prompts)
        standing = {page.page_id: title for title, page in lake.pages.items()}
        for title, page in lake.pages.items():
            is_known = any(one.page_id == page.page_id for one in lake.entities)
            if is_known or not self._is_worthy(title, page):
                continue
            if heir := self._heir(title, page, standing):
                heir.page_id = page.page_id
            else:
                lake.entities.append(Entity(page.page_id, title, self.typed(title, page), "new"))
        for entity in lake.entities:
            now = standing.get(entity.page_id)
            self._settle(entity, now, lake.pages[now] if now else None)

    def _heir(self, title: str, page: Page, standing: Mapping[int, str]) -> Entity | None:
        """The thing of a deleted page that a new page at its title stands for, if it has the same type."""
        gone = [one for one in self.lake.entities if one.title == title and one.page_id not in standing]
        typed = self.typed(title, page).type
        same = [one for one in gone if one.state != LOST and one.typed.type == typed]
        return next(iter(same or [one for one in gone if one.state == LOST and page.born == title]), None)

    def _settle(self, entity: Entity, title: str | None, page: Page | None) -> None:
        """Give an entity the type and state that it has to have now."""
        by_person = self.lake.decided_state(entity.identifier)
        typed = self.typed(title, page) if title and page else None
        is_kept = typed is not None and page is not None and not page.target and self._is_kept(entity, typed)
        if typed and title and page and self._is_worthy(title, page) and not is_kept:
            entity.typed, entity.title, state = typed, title, "promoted"
        elif is_kept:
            state = entity.state
        else:
            state = entity.state if entity.state == LOST else "suppressed"
        by_people = {"promote": "adjudicated", "suppress": "suppressed"}
        entity.state = by_people[by_person] if by_person and state != LOST else state

    def _is_kept(self, entity: Entity, typed: Typed) -> bool:
        """Whether an entity keeps its type against that of its page: people said so, or it is surer."""
        if "person" in {entity.typed.method, typed.method}:
            return False
        if self.lake.decided_state(entity.identifier) == "promote":
            return (
                typed.type != entity.typed.type or typed.confidence < SURE
            ) and entity.state != "suppressed"
        is_other = typed.type not in {entity.typed.type, "Unknown"}
        return entity.state == "promoted" and is_other and typed.confidence < entity.typed.confidence

    def typed(self, title: str, page: Page) -> Typed:
        """The type of a page: a person's, or else the rules', or else the recorded model's."""
        if decided := self.lake.decided_type(title):
            return Typed(decided, 1.0, "person")
        if page.target:
            return Typed("ReferenceMeta", 1.0, "rules")
        if page.kind in BY_RULES:
            return Typed(*BY_RULES[page.kind], "rules")
        return Typed(SAYS[(self.question + page.edition) % len(SAYS)], BY_MODEL, "model")

    def _is_worthy(self, title: str, page: Page) -> bool:
        typed = self.typed(title, page)
        return not page.target and typed.type not in NO_ENTITIES and typed.confidence >= SURE

    # --- what is compared

    def problems(self, seen: Mapping[str, Any]) -> Iterator[str]:
        """What a lake says otherwise than the model."""
        pages = {row["title"]: (row["page_id"], row["revision_id"]) for row in seen["pages"]}
        wanted = {title: (page.page_id, page.revision) for title, page in self.lake.pages.items()}
        yield from _differences("page", wanted, pages)
        types = {row["title"]: (row["primary_type"], row["method"]) for row in seen["types"]}
        said = {title: self.typed(title, page) for title, page in self.lake.pages.items()}
        yield from _differences("type", {title: (one.type, one.method) for title, one in said.items()}, types)
        yield from (f"{row['title']}: no rules' type" for row in seen["types"] if not row["rules_type"])
        yield from self.entity_problems(seen)
        yield from self._fact_problems(seen)
        yield from self.decision_problems(seen)

    def unfinished_problems(self, seen: Mapping[str, Any]) -> Iterator[str]:
        """What a lake lost in a run that did not come to its end: it holds what it held, or what is new."""
        now = {row["title"]: (row["page_id"], row["revision_id"]) for row in seen["pages"]}
        for title in sorted(now.keys() | self.lake.pages.keys() & self.wiki.keys()):
            may = [pages[title] for pages in (self.lake.pages, self.wiki) if title in pages]
            if now.get(title) not in [(one.page_id, one.revision) for one in may]:
                yield f"{title} is {now.get(title)}, which it neither was nor is"
        yield from self.decision_problems(seen)

    def entity_problems(self, seen: Mapping[str, Any]) -> Iterator[str]:
        """Entities that are missing, doubled, or otherwise than they have to be."""
        yield from (f"{row['entity_id']} stands twice" for row in seen["twice"])
        rows = {row["entity_id"]: row for row in seen["entities"]}
        self._learn(rows)
        for entity in self.lake.entities:
            row = rows.get(entity.identifier or "")
            if entity.state == LOST and (row is None or row["state"] == "suppressed"):
                continue
            if row is None or row["state"] != entity.state:
                yield f"{entity} is {row}"
            elif entity.state != "suppressed":
                is_, wanted = (row["title"], row["entity_type"]), (entity.title, entity.typed.type)
                yield from _differences("entity", {row["entity_id"]: wanted}, {row["entity_id"]: is_})
        known = {one.identifier for one in self.lake.entities}
        for identifier in rows.keys() - known:
            if rows[identifier]["state"] != "suppressed":
                yield f"nothing stands for {rows[identifier]}"

    def _learn(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        """The ids of new entities, which they have for ever."""
        known = {one.identifier for one in self.lake.entities}
        for entity in (one for one in self.lake.entities if one.identifier is None):
            new = [name for name, row in rows.items() if row["page_id"] == entity.page_id]
            entity.identifier = next((name for name in new if name not in known), None)

    def _fact_problems(self, seen: Mapping[str, Any]) -> Iterator[str]:
        key = f"emblem_{'ab'[self.rule]}"
        standing = {one.page_id: one for one in self.lake.entities if one.state != "suppressed"}
        pilots = [page for page in self.lake.pages.values() if page.kind == "pilot" and not page.target]
        of_pilots = (standing.get(page.page_id) for page in pilots)
        wanted = {(one.identifier, key, EMBLEM) for one in of_pilots if one}
        facts = {(row["entity_id"], row["fact_key"], row["value"]) for row in seen["facts"]}
        if facts != wanted:
            yield f"facts are {sorted(facts)}, and not {sorted(wanted, key=str)}"

    def decision_problems(self, seen: Mapping[str, Any]) -> Iterator[str]:
        """Decisions that are lost, added or counted otherwise; undone ones count no more."""
        counting = {one.identifier for one in self.lake.standing}
        made = {identifier for identifier, kind, counts in seen["decisions"] if kind != "undo" and counts}
        yield from (f"decision {one} does not count" for one in sorted(counting - made))
        yield from (f"decision {one} counts" for one in sorted(made - counting))

    # --- damage and backups

    def lose(self, table: str, partition: str) -> None:
        """A file was damaged. Of entities, what was true before is in the file that was set aside."""
        if table in TABLES_OF_A_WIKI:
            self.lake.again.update(TITLES)
        if table == "entities":
            for entity in self.lake.entities:
                if entity.typed.type == partition:
                    entity.state = LOST

    def back_up(self) -> None:
        self.backup = deepcopy(self.lake)

    def restore_backup(self) -> None:
        assert self.backup
        self.lake = deepcopy(self.backup)

    @property
    def is_rebuilt_alike(self) -> bool:
        """Whether a lake that starts from nothing has to know the same: nothing follows from what was."""
        return not self.moved and all(
            one.state in {"suppressed", LOST} or self._follows_from_now(one) for one in self.lake.entities
        )

    def _follows_from_now(self, entity: Entity) -> bool:
        page = self.lake.pages.get(entity.title)
        return (
            page is not None
            and self._is_worthy(entity.title, page)
            and (entity.typed == self.typed(entity.title, page))
        )


def _differences(what: str, wanted: Mapping[str, Any], is_: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(wanted.keys() | is_.keys()):
        if wanted.get(name) != is_.get(name):
            yield f"{what} {name}: it is {is_.get(name)}, and not {wanted.get(name)}"
