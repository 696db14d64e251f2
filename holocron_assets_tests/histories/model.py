"""What Holocron promises, in sets and dicts: what a run makes of pages, what was known, and decisions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

TITLES = ("Brenna", "Ostrov", "Quill", "Vetch", "Marrow", "Thistle", "Undine")
EMBLEM = "a red hand"
SURE, BY_MODEL = 0.80, 0.55  # what makes an entity stand, and what the recorded model's answer is worth
SAYS = ("LocationPlace", "Concept", "Species")  # of vague pages, by the question's wording and the edition
TABLES_OF_A_WIKI = ("pages", "batch_pages", "seed_titles", "page_changes", "change_looks", "known_links")
"""What is made again by asking the wiki."""

Kind = Literal["pilot", "planet", "starship", "vague"]
BY_RULES: Mapping[str, tuple[str, float]] = {
    "pilot": ("PersonCharacter", 0.99),
    "planet": ("LocationPlace", 0.93),
    "starship": ("VehicleCraft", 0.92),
}
BY_PEOPLE = {"promote": "adjudicated", "suppress": "suppressed", "merge": "merged"}
Names = set[str] | frozenset[str]
LOST = "lost"  # the state of an entity whose row was in a damaged file, and that no page stands for


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
    def key(self) -> str:
        return f"{self.page_id}@{self.revision}"


@dataclass(frozen=True)
class Typed:
    """The type that counts for a page, and whose answer it is."""

    type: str
    confidence: float
    method: str


@dataclass
class Entity:
    """One thing, by the page that it was last read from. Its id is learnt when it is first seen."""

    page_id: int
    title: str
    typed: Typed
    state: str
    identifier: str = ""
    into: str | None = None


@dataclass(frozen=True)
class Decision:
    """What a person said, of what. An undo names the decision that it undoes, a merge what stays."""

    identifier: str = ""
    kind: str = ""
    subject: str = ""
    value: str = ""


@dataclass
class Lake:
    """What a lake knows, as of the last run.

    Attributes:
        pages: what it holds, by title.
        asked: titles that were ever asked for.
        touched: titles that something happened to since.
        entities: all that ever stood.
        decisions: all, in the order of their time.
        answered: the prompts that the model answered.
        again: titles whose answers were in a damaged file.
        facts: the id of each page's facts, by page id and key. It is learnt when a fact is first seen.
    """

    pages: dict[str, Page] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    entities: list[Entity] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)
    again: set[str] = field(default_factory=set)
    facts: dict[tuple[int, str], str] = field(default_factory=dict)
    followed: set[str] = field(default_factory=set)  # the decisions about pairs that the last run knew
    lost_titles: bool = False  # whether the first titles of pages may be lost, which give ids again

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

    def last(self, of: str, *kinds: str) -> Decision:
        """The last decision of some kinds about something; an empty one if there is none."""
        return [Decision(), *(one for one in self.standing if one.subject == of and one.kind in kinds)][-1]

    def state_said(self, identifier: str) -> str:
        """`promote` or `suppress`, if people said so of an entity."""
        return self.last(identifier, "promote", "suppress").kind

    @property
    def pairs(self) -> dict[frozenset[str], Decision]:
        """The last decision about each two entities, whether they are one."""
        said = (one for one in self.standing if one.kind in {"merge", "split"})
        return {frozenset((one.subject, one.value)): one for one in said}

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

    def must_fetch(self) -> set[str]:
        """Titles that differ between wiki and lake, and those that are linked and were never asked for."""
        changed = {title for title, _ in self.lake.pages.items() ^ self.wiki.items()}
        linked = {to for title, page in self.wiki.items() for to in (page.target or title, *page.links)}
        return changed | (linked - self.lake.asked)

    def fetch_problems(self, fetched: Counter[str], *, kills: int) -> Iterator[str]:
        """What is wrong with the titles that a run asked for; at each kill, some were under way."""
        must, again = self.must_fetch(), self.lake.again
        for title in sorted(must - fetched.keys()):
            yield f"{title} was not asked for, though the lake does not hold what the wiki has"
        for title, times in sorted(fetched.items()):
            if title not in must | self.lake.touched | again:
                yield f"{title} was asked for, though nothing happened to it"
            elif times > 1 + kills + (title in again):
                yield f"{title} was asked for {times} times, though the run was killed {kills} times"

    def answer_problems(self, prompts: Sequence[str], *, kills: int, slots: int) -> Iterator[str]:
        """What is wrong with the questions that a run put to the model; see `fetch_problems`."""
        again = len(prompts) - len(set(prompts) - self.lake.answered)
        if again > kills * slots:
            yield f"{again} questions were asked again, though the run was killed {kills} times"

    def ran(self, fetched: Iterable[str], prompts: Iterable[str]) -> None:
        """A run came to its end. The deletion of a page that the lake never had is not asked about."""
        lake = self.lake
        lake.asked |= self.must_fetch() | lake.touched.intersection(fetched)
        lake.pages = dict(self.wiki)
        lake.touched, lake.again = set(), set()
        lake.answered.update(prompts)
        self._resolve()

    def ran_in_part(self, seen: Mapping[str, Any]) -> None:
        """A run that the wiki failed resolved what the lake shows: each page as it was or is."""
        lake, held, shown = self.lake, self.lake.pages, seen["pages"]
        both = [*held.items(), *self.wiki.items()]
        lake.pages = {title: page for title, page in both if page.key == shown.get(title)}
        lake.touched.update(title for title, _ in held.items() ^ lake.pages.items())
        if seen["knows_site"]:  # without, nothing is read from pages
            self._resolve()

    def _resolve(self) -> None:
        """Give each thing its entity, and each entity its type, its state and what it is merged into."""
        lake = self.lake
        standing = {page.page_id: title for title, page in lake.pages.items()}
        for title, page in lake.pages.items():
            if any(one.page_id == page.page_id for one in lake.entities) or not self._is_worthy(title):
                continue
            if heir := self._heir(title, standing):
                heir.page_id = page.page_id
            else:
                lake.entities.append(Entity(page.page_id, title, self.typed(title), "new"))
        present = {one.identifier for one in lake.entities if self._retype(one, standing.get(one.page_id))}
        merged = self._merged(present)
        for entity in lake.entities:
            entity.into = merged.get(entity.identifier)
            said = "merge" if entity.into else lake.state_said(entity.identifier)
            entity.state = LOST if entity.state == LOST else BY_PEOPLE.get(said, entity.state)

    def _heir(self, title: str, standing: Mapping[int, str]) -> Entity | None:
        """The thing of a deleted page that a new page at its title stands for, if it has the same type."""
        gone = [one for one in self.lake.entities if one.title == title and one.page_id not in standing]
        same = [one for one in gone if one.state != LOST and one.typed.type == self.typed(title).type]
        is_first = self.lake.pages[title].born == title
        return next(iter(same or [one for one in gone if one.state == LOST and is_first]), None)

    def _retype(self, entity: Entity, title: str | None) -> bool:
        """Give an entity the type that it has to have now, and a state; whether a page stands for it."""
        if title and not self.lake.pages[title].target and self._is_kept(entity, self.typed(title)):
            entity.state = "promoted" if entity.state == "promoted" else "candidate"
        elif title and self._is_worthy(title):
            entity.typed, entity.title, entity.state = self.typed(title), title, "promoted"
            return True
        elif entity.state != LOST:
            entity.state = "suppressed"
        return False

    def _merged(self, here: Names) -> dict[str, str]:
        """By each entity that is one with others, the one that stays: people's newest merges come first."""
        said = sorted(self._within_types(), key=lambda one: one.identifier, reverse=True)
        self.lake.followed = {one.identifier for one in said}
        groups = _groups(said, [{one.subject, one.value} for one in said if one.kind == "split"])
        titles = {one.identifier: one.title for one in self.lake.entities}
        ends = {name: self._end(said, of, here & of or of, titles, "") for name, of in groups.items()}
        return {name: end for name, end in ends.items() if end != name}

    def _within_types(self) -> list[Decision]:
        """What people said of pairs whose two have one type now; nothing follows from the others."""
        types = {one.identifier: one.typed.type for one in self.lake.entities if one.state != LOST}
        return [one for one in self.lake.pairs.values() if types.get(one.subject) == types.get(one.value, "")]

    def _end(self, said: list[Decision], group: Names, here: Names, order: dict[str, str], own: str) -> str:
        """What people merged the others of a group into, if it is here; better itself than another."""
        within = [one for one in said if one.kind == "merge" and {one.subject, one.value} <= group]
        into = {one.value for one in within}
        last = (into - {one.subject for one in within}) & here or into & here or here
        told = {one: self.lake.state_said(one) for one in last}
        return min(last, key=lambda one: (one != own, told[one] != "promote", order.get(one, one)))

    def _is_kept(self, entity: Entity, typed: Typed) -> bool:
        """Whether an entity that is not lost keeps its type against that of its page: by people, or surer."""
        if entity.state == LOST or "person" in {entity.typed.method, typed.method}:
            return False
        is_other, name = typed.type != entity.typed.type, entity.identifier
        if name in _groups(self.lake.pairs.values()) or self.lake.state_said(name) == "promote":
            return (is_other or typed.confidence < SURE) and entity.state != "suppressed"
        is_less_sure = typed.type != "Unknown" and typed.confidence < entity.typed.confidence
        return entity.state == "promoted" and is_other and is_less_sure

    def typed(self, title: str) -> Typed:
        """The type of a page: a person's, or else the rules', or else the recorded model's."""
        page = self.lake.pages[title]
        shared = "" if page.target else self.lake.last(page.kind, "template", "category").value
        if decided := self.lake.last(f"page {page.page_id}", "classify").value or shared:
            return Typed(decided, 1.0, "person")
        if ruled := ("ReferenceMeta", 1.0) if page.target else BY_RULES.get(page.kind):
            return Typed(*ruled, "rules")
        return Typed(SAYS[(self.question + page.edition) % len(SAYS)], BY_MODEL, "model")

    def _is_worthy(self, title: str) -> bool:
        if title not in self.lake.pages or self.lake.pages[title].target:
            return False
        typed = self.typed(title)
        return typed.type not in {"ReferenceMeta", "Unknown"} and typed.confidence >= SURE

    def problems(self, seen: Mapping[str, Any]) -> Iterator[str]:
        """What a lake says otherwise than the model."""
        wanted = {title: page.key for title, page in self.lake.pages.items()}
        yield from _differences("page", wanted, seen["pages"])
        types = {row["title"]: (row["primary_type"], row["method"]) for row in seen["types"]}
        said = {title: (one.type, one.method) for title in wanted for one in [self.typed(title)]}
        yield from _differences("type", said, types)
        yield from (f"{row['title']}: no rules' type" for row in seen["types"] if not row["rules_type"])
        yield from self.entity_problems(seen)
        yield from self._fact_problems(seen)
        yield from self.decision_problems(seen)

    def unfinished_problems(self, seen: Mapping[str, Any]) -> Iterator[str]:
        """What a lake lost in an unfinished run: a page is as it was or is, or was read at its new title."""
        now, here = seen["pages"], {key.partition("@")[0] for key in seen["pages"].values()}
        for title in sorted((now.keys() | self.lake.pages.keys() & self.wiki.keys()) - self.lake.again):
            may = [pages[title] for pages in (self.lake.pages, self.wiki) if title in pages]
            is_moved = title not in now and str(self.lake.pages[title].page_id) in here
            if now.get(title) not in [one.key for one in may] and not is_moved:
                yield f"{title} is {now.get(title)}, which it neither was nor is"
        yield from self.decision_problems(seen)

    def entity_problems(self, seen: Mapping[str, Any]) -> Iterator[str]:
        """Entities that are missing, doubled, or otherwise than they have to be."""
        yield from (f"{row['entity_id']} stands twice" for row in seen["twice"])
        rows = {row["entity_id"]: row for row in seen["entities"]}
        for entity in (one for one in self.lake.entities if not one.identifier):  # an id is for ever
            new = rows.keys() - {one.identifier for one in self.lake.entities}
            entity.identifier = next((one for one in new if rows[one]["page_id"] == entity.page_id), "")
            self._resolve()  # people may have spoken of this id before
        gone = {name for name, row in rows.items() if row["state"] == "suppressed"}
        lost = {one.identifier for one in self.lake.entities if one.state == LOST} - (rows.keys() - gone)
        known = {one.identifier: one for one in self.lake.entities if one.identifier not in lost}
        wanted = {name: _shown(one.state, one.into, one.title, one.typed.type) for name, one in known.items()}
        shown = {name: rows[name] for name in rows if name in known or name not in gone}
        read = ("state", "merged_into", "title", "entity_type")
        is_ = {name: _shown(*(row[column] for column in read)) for name, row in shown.items()}
        yield from _differences("entity", wanted, is_)

    def _fact_problems(self, seen: Mapping[str, Any]) -> Iterator[str]:
        key = f"emblem_{'ab'[self.rule]}"
        standing = {one.identifier for one in self.lake.entities if one.state not in {"suppressed", LOST}}
        owners = {one.page_id: one.into or one.identifier for one in self.lake.entities}
        wanted, facts = {}, {row.pop("title"): tuple(row.values()) for row in seen["facts"]}
        for title, page in self.lake.pages.items():
            if page.kind == "pilot" and not page.target and owners.get(page.page_id) in standing:
                one = self.lake.facts.setdefault((page.page_id, key), facts.get(title, ("",))[0])
                said = self.lake.last(one, "accept", "reject").kind
                wanted[title] = (one, owners[page.page_id], key, EMBLEM, f"{said or 'stat'}ed")
        yield from _differences("fact of", wanted, facts)

    def decision_problems(self, seen: Mapping[str, Any]) -> Iterator[str]:
        """Decisions that are lost, added or counted otherwise; undone ones count no more."""
        counting = dict.fromkeys((one.identifier for one in self.lake.standing), "counting")
        made = {name: "counting" for name, kind, counts in seen["decisions"] if kind != "undo" and counts}
        yield from _differences("decision", counting, made)

    def decidable(self, kind: str, one: Entity, other: Entity) -> Entity | None:
        """What a merge or split of two entities is about beside the first, if people may decide so."""
        now = self.leads_to(other)
        about = now if kind == "merge" and now is not self.leads_to(one) else other
        pairs, pair = self.lake.pairs, frozenset((one.identifier, about.identifier))
        last = pairs.get(pair, Decision())
        is_said = last.kind == kind and (kind == "split" or last.subject == one.identifier)
        groups = _groups(pairs[of] for of in pairs if of != pair)
        three = [groups.get(each.identifier, {each.identifier}) for each in (one, about, other)]
        named = {one.identifier, other.identifier} if about is other else set[str]()
        apart = [of for of in pairs if pairs[of].kind == "split" and of != named]
        is_against = three[0] == three[1] if kind == "split" else any(of <= set.union(*three) for of in apart)
        return None if is_said or about is one or about.typed.type != one.typed.type or is_against else about

    def leads_to(self, entity: Entity) -> Entity:
        """What an entity is merged into by the last run, if that counts still, and by people since."""
        said, own = self._within_types(), entity.identifier
        group = _groups(said).get(own, {own})
        known = self.lake.followed if entity.into in {None, *group} else set[str]()
        new = [one for one in said if one.identifier not in known]
        end = self._end(new, group, group, {}, entity.into if entity.into in group else own)
        return next((one for one in self.lake.entities if one.identifier == end), entity)

    def lose(self, table: str, partition: str) -> None:
        """A file was damaged. Of entities, what was true before is in the file that was set aside."""
        if table in TABLES_OF_A_WIKI:
            self.lake.again.update(TITLES)
            self.lake.facts.clear()
            self.lake.lost_titles = True
        for entity in self.lake.entities:
            if (table, partition) == ("entities", entity.typed.type):
                entity.state = LOST
            if entity.state == LOST and self.lake.lost_titles:
                entity.identifier = ""

    @property
    def is_rebuilt_alike(self) -> bool:
        """Whether a lake that starts from nothing has to know the same: nothing follows from what was."""
        kept = {each for pair in self.lake.pairs for each in pair}
        if self.moved or len({one.title for one in self.lake.entities}) < len(self.lake.entities):
            return False
        return all(
            (one.state in {"suppressed", LOST} and one.identifier not in kept)
            or (self._is_worthy(one.title) and one.typed == self.typed(one.title))
            for one in self.lake.entities
        )


def _groups(said: Iterable[Decision], apart: Iterable[Names] = ()) -> dict[str, set[str]]:
    """What people's merges join, by each of it; those that join what is to be apart are left out."""
    groups: dict[str, set[str]] = {}
    for one in (one for one in said if one.kind == "merge"):
        both = groups.get(one.subject, {one.subject}) | groups.get(one.value, {one.value})
        if not any(pair <= both for pair in apart):
            groups.update(dict.fromkeys(both, both))
    return groups


def _shown(state: str, into: str | None, *read: str) -> tuple[str | None, ...]:
    """What counts of an entity: what was read of it does only while it is shown."""
    return (state, into, *(read if state not in {"suppressed", "merged"} else ()))


def _differences(what: str, wanted: Mapping[str, Any], is_: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(wanted.keys() | is_.keys()):
        if wanted.get(name) != is_.get(name):
            yield f"{what} {name}: it is {is_.get(name)}, and not {wanted.get(name)}"
