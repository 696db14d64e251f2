"""`holocron review`: what a person should decide, as a table or item by item."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import click
from rich.console import Console
from rich.markup import escape

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.cli.console import print_records, print_rows, shown, terminal, to_json
from holocron_assets.cli.shared import (
    author_option,
    clear_errors,
    counted,
    json_option,
    named_source,
    opened_lake,
    source_option,
)
from holocron_assets.decisions.log import DecisionError, one_step
from holocron_assets.entities.deciding import decide_undo_of_answer
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.place.paths import Lake
from holocron_assets.review.choices import Choice, choices_of, choices_of_alike, decide
from holocron_assets.review.item_detail import ItemDetail, Page, item_detail
from holocron_assets.review.past_decisions import PastDecision, who_decided
from holocron_assets.review.queue import (
    ASKED_KINDS,
    asked_now,
    asked_still,
    fingerprint,
    item_made,
    read_questions,
    settled_by,
    settled_with,
)
from holocron_assets.review.statements import Statement

_COLUMNS = ("rank", "kind", "source", "subject", "reason", "inbound", "dependants")
_RULE = "{confidence:.2f} {type} by {stage}: {reason} ({matched})"
_AROUND = 45  # characters of text shown before and after a piece of evidence
_MOST_EVIDENCE = 6
_ACCEPT, _TYPE, _LIST, _SKIP, _UNDO, _QUIT = "a", "t", "l", "s", "u", "q"


@click.command()
@click.option("--kind", type=click.Choice(ASKED_KINDS), help="Only items of this kind.")
@source_option
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Show at most this many."
)
@click.option("--walk", "is_walk", is_flag=True, help="Go through them one by one, and decide.")
@author_option
@json_option
@clear_errors
def review(  # noqa: PLR0913 - one for each option
    kind: str | None, source_name: str | None, limit: int, author: str, *, is_walk: bool, as_json: bool
) -> None:
    """Show what machines left open, first what a decision would change most.

    With --walk, decide them item by item. `holocron web` shows the same in the browser.
    """
    if is_walk and as_json:
        raise click.UsageError("--walk asks questions, and --json is for scripts: take one of them")
    lake = opened_lake()
    queue = read_questions(lake)
    if source_name and source_name not in {row["source"] for row in queue}:
        named_source(source_name)  # says so if there is none of this name
    items = [row for row in queue if kind in (None, row["kind"]) and source_name in (None, row["source"])]
    if is_walk:
        _Walk(lake, terminal(), author, tuple(load_taxonomy().types)).through(items)
    elif as_json:
        click.echo(to_json(items[:limit]))
    else:
        print_rows(terminal(), "", [{name: row[name] for name in _COLUMNS} for row in items[:limit]])
        click.echo(_summary(items, limit))


def _summary(questions: Sequence[Row], limit: int) -> str:
    found, settles = len(questions), sum(row["settles"] for row in questions)
    if not found:
        return "Nothing is open. What machines leave open appears here after the next `holocron run`."
    more = f", {limit} of them shown" if found > limit else ""
    about = f" about {settles:,} items" if settles > found else ""
    asked = counted(found, "question" if about else "item") + about
    return f"{asked}{more}. `holocron review --walk` or `holocron web` decides them."


@dataclass
class _Walk:
    """One person going through items.

    Attributes:
        lake: where decisions go.
        console: where items are shown.
        author: who decides.
        types: the taxonomy's types.
        made: the decisions made on this walk, each with its item.
        taken_back: the ids of items whose decision was taken back on this walk.
    """

    lake: Lake
    console: Console
    author: str
    types: Sequence[str]
    made: list[tuple[Row, str]] = field(default_factory=list)
    taken_back: set[str] = field(default_factory=set)

    def through(self, items: Sequence[Row]) -> None:
        """Ask about one item after the other, until all were asked or the person leaves."""
        waiting = list(items)
        try:
            while waiting:
                item, *rest = waiting
                waiting = rest if self._is_settled(item) else self._ask(item, rest)
        except click.Abort:  # Ctrl-C, or a pipe that has no more answers
            self.console.line()
        self.console.print(f"{counted(len(self.made), 'decision')} recorded, {len(waiting)} left.")
        if self.made:
            self.console.print("Sensors, or `holocron run`, redo what follows from them.")

    def _ask(self, item: Row, rest: list[Row]) -> list[Row]:
        """Ask about one item, or about several that are alike; returns what to ask about next."""
        choices, seen = self._show(item)
        _print_choices(self.console, choices, can_undo=bool(self.made), settles=item["settles"])
        while True:
            answer = click.prompt("Decide").strip()
            if answer == _QUIT:
                raise click.Abort
            if answer == _SKIP:
                return rest
            if answer == _LIST and item["members"]:
                rows = [{name: row[name] for name in _COLUMNS} for row in item["members"]]
                print_rows(self.console, "", rows)
            elif answer == _UNDO and self.made:
                if taken_back := self._undo():
                    again = {row["item_id"] for row in taken_back["members"]}
                    return [taken_back, *(row for row in (item, *rest) if row["item_id"] not in again)]
            elif choice := self._chosen(answer, choices):
                is_decided = self._decide(item, choice, seen)
                asked = self._asked_instead(item, seen, is_decided=is_decided)
                if asked is not None:
                    ids = {row["item_id"] for row in asked}
                    return [*asked, *(row for row in rest if row["item_id"] not in ids)]

    def _asked_instead(self, item: Row, seen: str, *, is_decided: bool) -> list[Row] | None:
        """What is asked in place of a question after an answer to it; None if it is asked as it was shown."""
        if item["members"]:  # asked one by one from now on, or others are alike than were shown
            return asked_now(self.lake, item)
        now = self._as_it_is(item)
        if is_decided or now is None or settled_by(self.lake, item["item_id"]):
            return []
        return None if item_detail(self.lake, now).fingerprint == seen else [now]

    def _is_settled(self, item: Row) -> bool:
        """Whether a decision settled an item since the walk began: it is printed then."""
        said = settled_by(self.lake, item["item_id"])
        if said:
            self.console.print(
                f"{shown(item['subject'])} is settled: {shown(who_decided(said))}.", end="\n\n"
            )
        return said is not None

    def _show(self, item: Row) -> tuple[Sequence[Choice], str]:
        """Print what helps to decide; returns the choices, and a fingerprint of what was shown."""
        if item["members"]:
            _print_question(self.console, item)
            return choices_of_alike(self.lake, item, self.types), fingerprint(item)
        detail = item_detail(self.lake, item)
        _print_item(self.console, detail)
        return choices_of(detail, self.types), detail.fingerprint

    def _chosen(self, answer: str, choices: Sequence[Choice]) -> Choice | None:
        """The choice that an answer selects. If none, a message says so and the result is None."""
        if answer == _TYPE and any(choice.is_type for choice in choices):
            return self._chosen_type(choices)
        by_key = {choice.key: choice for choice in choices if choice.key}
        proposal = next((choice for choice in choices if choice.is_proposal), None)
        choice = by_key.get(answer) or (proposal if answer == _ACCEPT else None)
        if choice is None:
            self.console.print(f"{escape(repr(answer))} is none of the answers above.")
        return choice

    def _chosen_type(self, choices: Sequence[Choice]) -> Choice | None:
        """The type that the person names, in upper or lower case; None if they go back."""
        types = {choice.label.lower(): choice for choice in choices if choice.is_type}
        self.console.print(f"Types: {', '.join(sorted(choice.label for choice in types.values()))}")
        while answer := click.prompt("Type (nothing: go back)", default="", show_default=False).strip():
            if choice := types.get(answer.lower()):
                return choice
            self.console.print(f"{escape(repr(answer))} is no type.")
        return None

    def _decide(self, item: Row, choice: Choice, seen: str) -> bool:
        """Record a choice. If it is refused, print why and return False."""
        reason = click.prompt("Reason", default=choice.reason)
        try:
            with one_step(self.lake):
                self._refuse_changed(item, seen)
                row = decide(self.lake, choice, author=self.author, reason=reason)
        except DecisionError as error:
            self.console.print(f"Nothing was recorded: {escape(str(error))}.")
            return False
        self.made.append((item, row["decision_id"]))
        self.console.print(f"Recorded: {shown(choice.label)}, of {shown(item['subject'])}.")
        if settled := settled_with(self.lake, row["decision_id"]):
            self.console.print(f"That settles {settled} of the queue.")
        self.console.line()
        return True

    def _refuse_changed(self, item: Row, seen: str) -> None:
        """Raise DecisionError if an item was settled, or is another by now than was shown."""
        if item["members"]:
            asked_still(self.lake, item["item_id"], seen)
            return
        if said := settled_by(self.lake, item["item_id"]):
            raise DecisionError(who_decided(said))
        now = self._as_it_is(item)
        if now is None:
            raise DecisionError("it is open no more: a run settled it since this walk began")
        if item_detail(self.lake, now).fingerprint != seen:
            raise DecisionError("it, or what people decided about it, changed since it was shown")

    def _as_it_is(self, item: Row) -> Row | None:
        """An item by itself as the queue has it now; None if a run took it out.

        What was taken back on this walk is open, and the queue has it again only after the next run.
        """
        now = item_made(self.lake, item["item_id"])
        return {**item, **(now or {})} if now or item["item_id"] in self.taken_back else None

    def _undo(self) -> Row | None:
        """Take the last answer back and return its item. If it is refused, print why and return None."""
        item, decision_id = self.made[-1]
        try:
            decide_undo_of_answer(
                self.lake, decision_id, author=self.author, reason="Taken back on the same walk"
            )
        except DecisionError as error:
            self.console.print(f"Nothing was undone: {escape(str(error))}.")
            return None
        finally:
            self.made.pop()  # a refused undo would be refused again: the next `u` takes the one before
        self.taken_back.add(item["item_id"])
        self.console.print(f"Taken back: what was decided of {shown(item['subject'])}.", end="\n\n")
        return item


def _print_choices(console: Console, choices: Sequence[Choice], *, can_undo: bool, settles: int) -> None:
    answers = {choice.key: choice.label for choice in choices if choice.key}
    if any(choice.is_proposal for choice in choices):
        answers = {_ACCEPT: f"accept the proposal: {choices[0].label}", **answers}
    if any(choice.is_type for choice in choices):
        answers[_TYPE] = "another type"
    if settles > 1:
        answers[_LIST] = f"list all {settles:,}"
    answers[_SKIP] = "skip"
    if can_undo:
        answers[_UNDO] = "undo the last decision"
    answers[_QUIT] = "quit"
    for key, label in answers.items():
        console.print(f"  [bold]{key:>2}[/bold]  {shown(label)}")


def _print_question(console: Console, item: Row) -> None:
    console.rule(f"[bold]{shown(item['subject'])}[/bold]", align="left")
    console.print(f"[bold]{shown(item['question'])}[/bold] {shown(item['reason'])}")
    it = "them" if item["settles"] > 1 else "it"
    linked = f"{counted(item['inbound'], 'link')} to {it}, {item['dependants']} facts and names hang on {it}"
    console.print(f"[dim]{item['kind']} of {item['source']}, rank {item['rank']:.2f}: {linked}[/dim]")


def _print_item(console: Console, detail: ItemDetail) -> None:
    _print_question(console, detail.item)
    if detail.warning:
        console.print(f"[yellow]{shown(detail.warning)}[/yellow]")
    for entity in detail.entities:
        names = ("name", "entity_type", "continuity", "state", "state_reason", "review_reason", "title")
        print_records(console, "Entity", [{name: entity[name] for name in names}])
    print_records(console, "Statement", map(_statement, detail.statements))
    print_records(console, "Judged", [_judged(detail.judgement)] if detail.judgement else [])
    for page in detail.pages:
        print_records(console, f"Page {page.row['title']}", [_about(detail, page)])
    print_records(console, "Decision", map(_decision, detail.decisions))
    console.line()


def _statement(statement: Statement) -> dict[str, object]:
    return {
        statement.predicate: ", ".join([statement.value, *statement.details]),
        "status": statement.status,
        "said by": f"{statement.row['method']} {statement.said_by}, at {statement.row['confidence']:.2f}",
        "words": statement.row["evidence"],
    }


def _judged(judgement: Row) -> dict[str, object]:
    names = ("judgement", "judged_by", "method", "score", "proposal", "proposed_by", "refused")
    return {name: judgement[name] for name in names}


def _about(detail: ItemDetail, page: Page) -> dict[str, object]:
    """What the page says, what rules and a model say about it, and the evidence in its text."""
    page_type = page.type or {}
    return {
        "lead": page.signals["lead_excerpt"] if page.signals else None,
        "rules": [_RULE.format_map(line) for line in page.evidence],
        "model": page_type.get("model") and f"{page_type['model_type']}, says {page_type['model']}",
        "rationale": page.model["rationale"] if page.model else None,
        "evidence": list(_around(detail, page))[:_MOST_EVIDENCE],
    }


def _around(detail: ItemDetail, page: Page) -> Iterator[str]:
    """Each piece of evidence, between >> and <<, with the text around it."""
    for mark in detail.marks(page):
        before = page.wikitext[max(mark.start - _AROUND, 0) : mark.start]
        after = page.wikitext[mark.end : mark.end + _AROUND]
        words = page.wikitext[mark.start : mark.end]
        yield " ".join(f"{before} >>{words}<< {after}".split())


def _decision(made: PastDecision) -> dict[str, object]:
    row = made.row
    kind = f"{row['kind']}, taken back" if made.is_undone else row["kind"]
    names = ("value", "author", "decided_at", "reason")
    return {"kind": kind, **{name: row[name] for name in names}}
