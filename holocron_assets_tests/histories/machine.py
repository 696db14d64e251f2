"""Histories: a Holocron and its model live through the same, and are compared after every step."""

import json
import shutil
import sys
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar

from driving import Driven, Setting, driven
from history_wiki import FAILURES, PROPOSING, TEXTS
from hypothesis import HealthCheck, reject, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from model import LOST, TITLES, Decision, Entity, Kind, Lake, Model

ENOUGH = 2
"""Changes before a run: what nothing happened to has been compared already."""
SLOTS = 2
"""Questions that a model is asked at once."""
DECIDED = ("PersonCharacter", "LocationPlace", "Organization", "ReferenceMeta")
FIRST: Mapping[str, tuple[Kind, int, tuple[str, ...]]] = {
    "Brenna": ("pilot", 0, ()),
    "Ostrov": ("planet", 0, ()),
    "Vetch": ("vague", 0, ()),
    "Undine": ("pilot", PROPOSING, ("Brenna",)),
}
"""What is in the wiki, and in the lake, when a history begins: of each page its kind, edition and links."""
SHARED: Mapping[str, tuple[str, Kind, tuple[Kind, ...]]] = {
    "template": ("Character", "pilot", ("pilot",)),
    "category": ("Gleanings", "vague", ("starship", "vague")),
}
"""What articles share: its name, the kind that a decision about it gives a type, and the kinds that have it.

The only template with fields is an infobox. A decision about a category gives none to what rules are sure of.
"""
RARE: Mapping[str, int] = {"upgrade": 1, "rebuild": 1}
"""Steps that a history has so many of at most: they cost as much as several others."""
SAID_BY_PEOPLE = ("decisions",)
"""Layers of the lake that nobody can make again."""
MOST_HOURS = 23
"""A run that waits longer waits for the time of a clock that was ahead by a day."""
NOT_BOTH = {"pages", "batch_pages"}
"""If both are damaged at once, nothing says since when the wiki's changes are to be read."""
UNCHANGING = ("export_decisions", "backup", "rebuild", "clock")
WHO = ("--author", "Ann", "--reason", "she knows")

titles = st.sampled_from(TITLES)
kinds = st.sampled_from(sorted(TEXTS))
editions = st.integers(0, 2)
links = st.lists(titles, max_size=2, unique=True).map(tuple)


@dataclass
class Tally:
    """What was done in all histories.

    Attributes:
        histories: how many were begun, those of shrinking included.
        steps: how often each rule was followed.
        seconds: how long each rule took, with its comparison.
        has_failed: whether a step found something wrong.
    """

    histories: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=partial(defaultdict, float))
    has_failed: bool = False

    def add(self, other: "Tally") -> None:
        """Take in what was done in other histories."""
        self.histories += other.histories
        self.steps += other.steps
        for name, seconds in other.seconds.items():
            self.seconds[name] += seconds

    def table(self) -> list[str]:
        """Lines: a rule each, and all together."""
        lines = [f"{'step':<22}{'times':>8}{'seconds':>10}"]
        lines += [
            f"{name:<22}{times:>8,}{self.seconds[name]:>10,.1f}" for name, times in self.steps.most_common()
        ]
        total, seconds = self.steps.total(), sum(self.seconds.values())
        return [*lines, f"{f'{self.histories:,} histories':<22}{total:>8,}{seconds:>10,.1f}"]


def step(act: Callable[..., None]) -> Callable[..., None]:
    """Count a step and its time."""

    @wraps(act)
    def counted(self: "Histories", *arguments: Any, **given: Any) -> None:
        if Histories.is_simplest:
            Histories.is_simplest = False
            self.tally.histories -= 1
            reject()
        began, self.went_well = monotonic(), False
        drawn = {name: value for name, value in given.items() if name != "data"}
        self.driven.wiki.log.append(f"{act.__name__} {drawn or ''}")
        try:
            act(self, *arguments, **given)
            self.went_well = True
            self.changes += act.__name__ not in UNCHANGING
        except Exception:
            if not self.tally.has_failed:  # shrinking takes long, and may find another failure
                done = "\n".join(self.driven.wiki.log)
                sys.stderr.write(f"found, and now shrunk:\n{done}\n{traceback.format_exc()}")
                self.driven.keep_found()
            self.tally.has_failed = True
            raise
        finally:
            self.tally.steps[act.__name__] += 1
            self.tally.seconds[act.__name__] += monotonic() - began

    return counted


class Histories(RuleBasedStateMachine):
    """One history."""

    driven: ClassVar[Driven]
    tally: ClassVar[Tally]
    first: ClassVar[Lake]
    is_simplest: ClassVar[bool] = False
    """Whether all that is drawn is the simplest: Hypothesis begins each seed so. That history is skipped."""

    def __init__(self) -> None:
        super().__init__()
        # A thousand histories take hours: someone who waits sees how far they are.
        sys.stderr.write(f"{self.tally.histories:,} histories, {self.tally.steps.total():,} steps\n")
        self.tally.histories += 1
        self.damaged, self.are_pairs_asked, self.was_clock_set = set[str](), False, False
        self.left = dict(RARE)
        is_kept = self.driven.begin()
        self.model = Model(self.driven.wiki.standing)
        for title, page in FIRST.items():
            self._edit(title, *page)
        if is_kept:
            self.model.lake = deepcopy(self.first)
        else:
            self._finish(self._mark(), kills=0)
            self.driven.keep()
            Histories.first = deepcopy(self.model.lake)
        self.changes, self.went_well = 1, True

    # --- the wiki

    @rule(title=titles, kind=kinds, edition=editions, links=links)
    @step
    def edit(self, title: str, kind: Kind, edition: int, links: tuple[str, ...]) -> None:
        self._edit(title, kind, edition, links)

    @precondition(lambda self: self.model.wiki)
    @rule(data=st.data(), more=titles)
    @step
    def link(self, data: st.DataObject, more: str) -> None:
        title = data.draw(st.sampled_from(sorted(self.model.wiki)))
        page = self.model.wiki[title]
        self._edit(title, page.kind, page.edition, tuple(dict.fromkeys([*page.links, more])))

    @precondition(lambda self: self.model.wiki)
    @rule(data=st.data())
    @step
    def delete(self, data: st.DataObject) -> None:
        title = data.draw(st.sampled_from(sorted(self.model.wiki)))
        self.driven.wiki.delete(title)
        self.model.touch(title)

    @precondition(lambda self: self.driven.wiki.gone)
    @rule(data=st.data())
    @step
    def restore(self, data: st.DataObject) -> None:
        title = data.draw(st.sampled_from(sorted(self.driven.wiki.gone)))
        self.driven.wiki.restore(title)
        self.model.touch(title)

    @precondition(lambda self: self.model.wiki and len(self.model.wiki) < len(TITLES))
    @rule(data=st.data(), leaves_redirect=st.booleans())
    @step
    def move(self, data: st.DataObject, *, leaves_redirect: bool) -> None:
        title = data.draw(st.sampled_from(sorted(self.model.wiki)))
        target = data.draw(st.sampled_from(sorted(set(TITLES) - self.model.wiki.keys())))
        self.driven.wiki.move(title, target, leaves_redirect=leaves_redirect)
        self.model.touch(title, target)
        self.model.moved = True

    def _edit(self, title: str, kind: Kind, edition: int, links: tuple[str, ...]) -> None:
        self.driven.wiki.save(title, kind, edition, links)
        self.model.touch(title)

    # --- runs

    @precondition(lambda self: self.changes >= ENOUGH)
    @rule()
    @step
    def run(self) -> None:
        self._finish(self._mark(), kills=0)

    @precondition(lambda self: self.changes >= ENOUGH)
    @rule(at=st.integers(1, 300), when=st.sampled_from(["before", "after"]))
    @step
    def killed(self, at: int, when: str) -> None:
        """A run is killed at commit points, and the next one finishes."""
        mark = self._mark()
        death = self.driven.run_and_die(at, when, "")
        self.tally.steps["killed, and died"] += bool(death)
        self._finish(mark, kills=bool(death))

    @precondition(lambda self: self.changes >= ENOUGH)
    @rule(how=st.sampled_from(FAILURES), times=st.integers(1, 30), title=st.none() | titles)
    @step
    def wiki_fails(self, how: str, times: int, title: str | None) -> None:
        """The wiki fails while a run works. The run does it all, or says so and leaves it to the next."""
        mark = self._mark()
        self.driven.wiki.fail(how, times, title)
        code, said = self.driven.command("run")
        self.driven.wiki.recover()
        self.tally.steps["wiki_fails, run too"] += bool(code)
        assert code == 0 or self.driven.wiki.fake.host in said, said
        seen = self.driven.do("look")
        problems = [*self.model.unfinished_problems(seen)]
        assert not problems, "\n".join(problems)
        if given_up := seen["dead"]:
            assert given_up == [title], "only a page that the wiki fails at is given up"
            assert "Dead letters" in said
            self._decided("requeue", given_up[0], self.driven.command("requeue", "--all", *WHO))
        if code or given_up:
            self.model.ran_in_part(seen)
        if code:
            self.driven.pass_a_day()  # a host that recovered is asked again within a day
        if code or given_up:
            # What a clock that was wrong fetched may be fetched again, and these are two runs.
            self._finish(mark, kills=0, again=self.was_clock_set)
        else:
            self._compare(mark, kills=0)

    @precondition(lambda self: not self.damaged and not self.are_pairs_asked)
    @rule()
    @step
    def pairs_asked(self) -> None:
        """The model says of pairs that editors propose to merge that they are one. Nothing merges by that."""
        self._ask_about_pairs()

    def _ask_about_pairs(self) -> None:
        _, begun = self._mark()
        assert self.driven.do("ask_about_pairs")
        prompts = [chat.prompt for chat in self.driven.chats()[begun:]]
        self.tally.steps["pairs_asked, some"] += bool(prompts)
        problems = [*self.model.answer_problems(prompts, kills=0, slots=SLOTS)]
        assert not problems, "\n".join(problems)
        self.model.lake.answered.update(prompts)
        self.are_pairs_asked = True

    def _command(self, *arguments: str) -> str:
        """Do a command that has to go well; give what it printed."""
        code, said = self.driven.command(*arguments)
        assert code == 0, said
        return said

    def _mark(self) -> tuple[int, int]:
        return len(self.driven.wiki.given), len(self.driven.chats())

    def _finish(self, mark: tuple[int, int], *, kills: int, again: int = 0) -> None:
        before = self.driven.waited.seconds
        self._command("run")
        hours = (self.driven.waited.seconds - before) / 3600
        assert hours < MOST_HOURS, f"the run waited for {hours:.1f} hours"
        self._compare(mark, kills=kills, again=again)

    def _compare(self, mark: tuple[int, int], *, kills: int, again: int = 0) -> None:
        """Compare all with the model, after a run that came to its end."""
        fetched = Counter(self.driven.wiki.given[mark[0] :])
        prompts = [chat.prompt for chat in self.driven.chats()[mark[1] :]]
        model = self.model
        problems = [
            *model.fetch_problems(fetched, kills=kills + again),
            *model.answer_problems(prompts, kills=kills, slots=SLOTS),
        ]
        model.ran(fetched, prompts)
        self.changes = -1  # a run itself is no change
        self.damaged, self.are_pairs_asked = set(), False
        problems += model.problems(self.driven.do("look"))
        assert not problems, "\n".join(problems)

    # --- people

    @precondition(lambda self: self.model.lake.pages and not self.damaged)
    @rule(data=st.data(), type_name=st.sampled_from(DECIDED))
    @step
    def classify(self, data: st.DataObject, type_name: str) -> None:
        title = data.draw(st.sampled_from(sorted(self.model.lake.pages)))
        done = self.driven.command("decide", "classify", title, "--type", type_name, *WHO)
        self._decided("classify", f"page {self.model.lake.pages[title].page_id}", done, type_name)

    @precondition(lambda self: self._entities() and not self.damaged)
    @rule(data=st.data(), kind=st.sampled_from(["promote", "suppress"]))
    @step
    def decide_state(self, data: st.DataObject, kind: str) -> None:
        entity = data.draw(st.sampled_from(self._entities()))
        named = self.model.leads_to(entity)
        is_new = self.model.lake.state_said(named.identifier) != kind
        may = is_new and (kind == "promote" or named is entity)
        done = self.driven.command("decide", kind, entity.identifier, *WHO)
        self._decided(kind, named.identifier, done, may=may)

    @precondition(lambda self: len(self._entities()) > 1 and not self.damaged)
    @rule(data=st.data(), kind=st.sampled_from(["merge", "split"]))
    @step
    def decide_pair(self, data: st.DataObject, kind: str) -> None:
        """People say that two are one, or that they are not; most often two of one type."""
        one = data.draw(st.sampled_from(self._entities()))
        others = [other for other in self._entities() if other is not one]
        alike = [other for other in others if other.typed.type == one.typed.type]
        other = data.draw(st.sampled_from(alike or others) | st.sampled_from(others))
        about = self.model.decidable(kind, one, other)
        done = self.driven.command("decide", kind, one.identifier, other.identifier, *WHO)
        self._decided(kind, one.identifier, done, (about or other).identifier, may=about is not None)

    @precondition(lambda self: not self.damaged)
    @rule(number=st.integers(0, len(TITLES)), kind=st.sampled_from(["accept", "reject"]))
    @step
    def decide_statement(self, number: int, kind: str) -> None:
        facts = self.driven.do("look")["facts"]
        if facts:
            fact = facts[number % len(facts)]
            is_new = self.model.lake.last(fact["fact_id"], "accept", "reject").kind != kind
            done = self.driven.command("decide", kind, fact["fact_id"], *WHO)
            self._decided(kind, fact["fact_id"], done, may=is_new)

    @precondition(lambda self: not self.damaged)
    @rule(shared=st.sampled_from(sorted(SHARED)), type_name=st.sampled_from(DECIDED))
    @step
    def classify_all(self, shared: str, type_name: str) -> None:
        """People say what all articles are that have an infobox, or that are of a category and left open."""
        name, settled, having = SHARED[shared]
        articles = [page for page in self.model.lake.pages.values() if not page.target]
        done = self.driven.command("decide", shared, name, type_name, *WHO)
        may = any(page.kind in having for page in articles)
        self._decided(shared, settled, done, type_name, may=may)

    @precondition(lambda self: self.model.lake.decisions)
    @rule(data=st.data())
    @step
    def undo(self, data: st.DataObject) -> None:
        number = data.draw(st.integers(0, len(self.model.lake.decisions) - 1))
        chosen = self.model.lake.decisions[number].identifier
        may = chosen not in self.model.lake.undone and self.model.lake.decisions[number].kind != "requeue"
        self._decided("undo", chosen, self.driven.command("decide", "undo", chosen, *WHO), may=may)

    def _entities(self) -> list[Entity]:
        return [one for one in self.model.lake.entities if one.identifier and one.state != LOST]

    def _decided(
        self, kind: str, subject: str, done: tuple[int, str], value: str = "", *, may: bool = True
    ) -> None:
        assert done[0] == (0 if may else 1), done[1]
        seen = self.driven.do("look")
        known = {one.identifier for one in self.model.lake.decisions}
        new = [identifier for identifier, _, _ in seen["decisions"] if identifier not in known]
        assert len(new) == may, "each decision is one row of the log"
        self.model.lake.add(Decision(identifier, kind, subject, value) for identifier in new)
        problems = [*self.model.decision_problems(seen)]
        assert not problems, "\n".join(problems)

    @precondition(lambda self: list(self.model.exported) != self.model.lake.decisions)
    @rule()
    @step
    def export_decisions(self) -> None:
        self._command("decisions", "export", str(self.driven.folder / "decisions.jsonl"))
        self.model.exported = list(self.model.lake.decisions)

    @precondition(lambda self: self.model.exported)
    @rule()
    @step
    def import_decisions(self) -> None:
        """Bring decisions back. No new one may be of the future, or else the whole file is refused."""
        code, said = self.driven.command("decisions", "import", str(self.driven.folder / "decisions.jsonl"))
        new = [one for one in self.model.exported if one not in self.model.lake.decisions]
        is_refused = self._are_of_the_future(new)
        assert code == is_refused, said
        if not is_refused:
            self.model.lake.add(self.model.exported)
        problems = [*self.model.decision_problems(self.driven.do("look"))]
        assert not problems, "\n".join(problems)

    def _are_of_the_future(self, decisions: Sequence[Decision]) -> bool:
        """Whether any was made by a clock that was ahead. It is imported only once its time has come."""
        return any(self.driven.is_of_the_future(one.identifier) for one in decisions)

    @rule(question=st.integers(0, 2), rule=st.integers(0, 1))
    @step
    def settings(self, question: int, rule: int) -> None:
        """People write another question, with another schema or not, or another rule for infoboxes."""
        self.driven.set(Setting(question, rule))
        self.model.question, self.model.rule = question, rule

    # --- what happens to the machine

    @precondition(lambda self: self.model.backup is None or self.model.backup.pages != self.model.lake.pages)
    @rule()
    @step
    def backup(self) -> None:
        shutil.rmtree(self.driven.folder / "backups", ignore_errors=True)
        self._command("backup", str(self.driven.folder / "backups"))
        self.model.backup = deepcopy(self.model.lake)

    @precondition(lambda self: self.model.backup not in (None, self.model.lake))
    @rule()
    @step
    def restore_backup(self) -> None:
        self.driven.lose_everything()
        (made,) = (self.driven.folder / "backups").iterdir()
        self._command("restore", str(made))
        assert self.model.backup
        self.model.lake = deepcopy(self.model.backup)
        self.changes = ENOUGH

    @rule(number=st.integers(0, 10**6), damage=st.sampled_from(["empty", "cut", "flipped"]))
    @step
    def damage(self, number: int, damage: str) -> None:
        """A file of the lake is damaged, found and named; what it held is made again."""
        files = [Path(name) for name in self.driven.do("files")]
        files = [file for file in files if file.parts[1] not in SAID_BY_PEOPLE]
        spared = NOT_BOTH - self.damaged if NOT_BOTH & self.damaged else set[str]()
        files = [file for file in files if file.parts[2] not in spared]
        if not files:  # all were damaged before
            return
        file = files[number % len(files)]
        self.driven.damage(file, damage)
        code, said = self.driven.command("verify")
        assert code == 1, f"damage of {file} was not found"
        assert str(file) in said, said
        _, _, table, partition, _ = file.parts
        self.model.lose(table, partition)
        self.damaged.add(table)  # what is decided about cannot be read before the next run

    @rule(hours=st.sampled_from([-24, -1, 0, 1, 24]))
    @step
    def clock(self, hours: int) -> None:
        """The machine's clock is set: it is wrong by so much from now on."""
        self.driven.set_clock(hours * 3600)
        self.was_clock_set = True

    @precondition(lambda self: self.left["upgrade"] and "page_types" not in self.damaged)
    @rule()
    @step
    def upgrade(self) -> None:
        """An earlier version of the code made all page types: some of their columns are empty."""
        self.left["upgrade"] -= 1
        assert self.driven.do("age")

    @precondition(lambda self: self.left["rebuild"] and self.changes == 0 and self.model.is_rebuilt_alike)
    @precondition(lambda self: not self._are_of_the_future(self.model.lake.decisions))
    @rule()
    @step
    def rebuild(self) -> None:
        """A lake that starts from nothing, with the same decisions, comes to know the same."""
        self.left["rebuild"] -= 1
        self._command("decisions", "export", str(self.driven.folder / "all.jsonl"))
        self._ask_about_pairs()
        self._command("run")
        known = json.loads(self._command("hash", "--json"))
        with self.driven.another():
            self._command("decisions", "import", str(self.driven.folder / "all.jsonl"))
            self._command("run")
            assert self.driven.do("ask_about_pairs")
            self._command("run")
            rebuilt = json.loads(self._command("hash", "--json"))
        differing = [name for name, table in known["tables"].items() if rebuilt["tables"][name] != table]
        assert not differing, differing

    def teardown(self) -> None:
        """A history that went well ends with a run: many draw none."""
        if self.went_well and self.changes > 1:
            self.last_run()
        self.driven.end_life()

    @step
    def last_run(self) -> None:
        self._finish(self._mark(), kills=0)


def lived(seeds: Sequence[int], folder: Path, *, histories: int, steps: int) -> tuple[Tally, str]:
    """Live through the histories that seeds give, each as many; say what was done, and what was wrong.

    Of ten histories of one seed, Hypothesis makes one by the simplest choices. Of more, it makes most out of
    parts of those before, and many of them have few steps.
    """
    folder.mkdir()
    Histories.tally = Tally()
    with driven(folder) as Histories.driven:
        for number in seeds:
            try:
                _live(number, histories, steps)
            except Exception:  # noqa: BLE001 - another process shows it
                repeat = f"HOLOCRON_HISTORIES={histories} HOLOCRON_HISTORIES_SEED={number} repeats this"
                wrong = f"{repeat}:\n{traceback.format_exc()}"
                sys.stderr.write(wrong)  # other workers may go on for hours
                return Histories.tally, wrong
    return Histories.tally, ""


def _live(number: int, histories: int, steps: int) -> None:
    Histories.is_simplest = True
    run_state_machine_as_test(
        seed(number)(Histories),
        settings=settings(
            max_examples=histories,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=False,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
