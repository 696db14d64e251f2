"""What models are asked about a page, the outcomes, and why a question was not asked yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holocron_assets.classify.learned.answers import in_words
from holocron_assets.derive.dispatch.backlog import backlog, model_to_ask
from holocron_assets.derive.dispatch.choosing import Decision, Score
from holocron_assets.derive.dispatch.plans import plan
from holocron_assets.derive.dispatch.pools import DispatchSettings
from holocron_assets.derive.dispatch.served import ServedModels, gpu_holder, read_served_models
from holocron_assets.derive.dispatch.standing_controls import StandingControls
from holocron_assets.derive.interrogations.conditions import TYPE_TABLES, ConditionError, rows_that_fit
from holocron_assets.derive.interrogations.derived_tables import ID_COLUMNS, ROW_TABLES
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.items.wanted import conditions_of
from holocron_assets.lake.files.parquet import MissingPartitionError, read_table
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables.derive import LLM_RUNS
from holocron_assets.lake.views.database import connect, query
from holocron_assets.operations.why.answers import Answer, at, named
from holocron_assets.operations.why.chains import changed_inputs, waits_for
from holocron_assets.operations.why.fetching import Page

_MOST_BEFORE = 5
_UNMET = {
    "wikitext_length > 0": "it has no text",
    "not is_redirect": "it is a redirect",
    "list_contains($types, primary_type)": "it is of another type than {types}",
    "confidence < $confidence_below": "its type is surer: below {confidence_below} is wanted",
    "confidence >= $confidence_from": "its type is not sure enough: {confidence_from} or more is wanted",
    "list_contains($sources, source)": "it is of another source than {sources}",
    "state not in ('merged', 'suppressed')": "it was suppressed",
    "origin = 'page'": "only lists name it, and a page is shown",
    "list_contains($types, entity_type)": "it is of another type than {types}",
}
"""For each condition with its own key in files: what it means that a page does not meet it."""
_RUNS = """
    select
        interrogation, prompt_version, model, model_digest, result_key, status, attempts, error, due_at,
        finished_at
    from lake.llm_runs
    where partition = $partition and split_part(item_id, '#', 1) = $item
    order by finished_at
"""


@dataclass(frozen=True)
class _State:
    """Which models can be asked, and which questions come first.

    Attributes:
        lake: where pages and answers are.
        partition: the page's batch, or the entity's type.
        item: the page's title key, or the entity's id.
        runs: its items' rows of `llm_runs`, the last one last.
        served: the models that the server has, and code.
        problem: why some models cannot be asked.
        decisions: the next decision in each pool.
    """

    lake: Lake
    partition: str
    item: str
    runs: Sequence[Mapping[str, Any]]
    served: ServedModels
    problem: str | None
    decisions: Sequence[Decision]


def why_asked(lake: Lake, page: Page, settings: DispatchSettings) -> list[Answer]:
    """What each interrogation asks about a page, or why it does not; empty for a page without signals.

    Args:
        lake: where pages and answers are.
        page: the page.
        settings: how work is dispatched.
    """
    if not page.topics["signals"]:
        return []
    batch = page.topics["signals"][-1]["batch"]
    state = _state_of(lake, batch, str(page.key), settings)
    of_page = [_answer(page, one, state) for one in load_interrogations() if one.over == "pages"]
    return [*of_page, *_asked_of_entity(page, state)]


def _asked_of_entity(page: Page, state: _State) -> list[Answer]:
    """What each interrogation asks about the entity of a page; empty if the page has none."""
    entity = next(iter(page.topics.get("entities", ())), None)
    if entity is None:
        return []
    interrogations = [one for one in load_interrogations() if one.over == "entities"]
    if entity["merged_into"]:
        return [_merged(page, one, entity) for one in interrogations]
    runs = _runs(state.lake, entity["entity_type"], entity["entity_id"])
    about_it = replace(state, partition=entity["entity_type"], item=entity["entity_id"], runs=runs)
    return [_answer(page, one, about_it) for one in interrogations]


def _merged(page: Page, interrogation: Interrogation, entity: Mapping[str, Any]) -> Answer:
    because = (
        f"it is asked about as {entity['merged_into_name']!r}, {entity['merged_into']}",
        "answers to the same question count there, too",
        "its own answers are kept, but are in no table of answers any more",
    )
    says = "Not asked any more: the entity was merged."
    return Answer(interrogation.name, says, because, _artifacts(interrogation, page))


def _runs(lake: Lake, partition: str, item: str) -> list[dict[str, Any]]:
    with connect(lake, tables=[LLM_RUNS]) as connection:
        return query(connection, _RUNS, {"partition": partition, "item": item})


def _state_of(lake: Lake, partition: str, item: str, settings: DispatchSettings) -> _State:
    interrogations, now = load_interrogations(), utc_now()
    runs = _runs(lake, partition, item)
    served, problem = read_served_models(interrogations)
    waiting = backlog(
        lake, interrogations, digests=served.digests, now=now, heed=StandingControls(lake).heeded
    )
    plans = plan(waiting, settings, served.loaded, now)
    return _State(lake, partition, item, runs, served, problem, [one.decision for one in plans])


def _answer(page: Page, interrogation: Interrogation, state: _State) -> Answer:
    own = [run for run in state.runs if run["interrogation"] == interrogation.name]
    if not interrogation.enabled and not own:
        return Answer(interrogation.name, "Not asked: its file says `enabled: false`.")
    return _asked(page, interrogation, state, own)


def _asked(
    page: Page, interrogation: Interrogation, state: _State, own: Sequence[Mapping[str, Any]]
) -> Answer:
    name = interrogation.name
    unmet = _unmet(state.lake, interrogation, state.partition, state.item)
    what, where = ("page", "batch") if interrogation.over == "pages" else ("entity", "type")
    if unmet is None:
        return Answer(name, f"Not asked yet: a table that it chooses by lacks {where} {state.partition}.")
    if unmet:
        return Answer(name, f"Not asked: it does not want this {what}.", tuple(unmet))
    current = [run for run in own if run["prompt_version"] == interrogation.prompt_version]
    if not current:
        changed = ("it was asked by an earlier prompt; the prompt or evidence changed since",) if own else ()
        if waits := waits_for(state.lake, interrogation, state.partition, state.item):
            return Answer(name, "Asked for, and not answered yet.", (waits, *changed))
        if interrogation.wants.unpredicted and not own and (spared := _spared(page)):
            says = "Not asked: the learned model is sure of the type."
            return Answer(name, says, spared, _ask(interrogation, page))
        because = (*_turn(interrogation, state), *changed)
        return Answer(name, "Asked for, and not answered yet.", because, _ask(interrogation, page))
    return _outcome(page, interrogation, state, current[-1])


def _spared(page: Page) -> tuple[str, ...]:
    """What the learned model says of a page of which it is sure."""
    return tuple(in_words(row) for row in page.topics["predictions"] if not row["abstains"])


def _outcome(page: Page, interrogation: Interrogation, state: _State, last: Mapping[str, Any]) -> Answer:
    """The outcome of asking about a page, or its entity."""
    name = interrogation.name
    ask, artifacts = _ask(interrogation, page), _artifacts(interrogation, page)
    match last["status"]:
        case "ok":
            says = f"Answered by {last['model']} at {at(last['finished_at'])}."
            if (why_again := _why_again(interrogation, state)) is not None:
                return Answer(name, f"{says} It is asked again.", why_again, (*artifacts, *ask))
            return Answer(name, says, commands=artifacts)
        case "dead":
            says = f"Given up after {last['attempts']} attempts: {last['error']}."
            answer = Answer(name, says, commands=(*artifacts, page.requeue_command))
            return answer.with_tracebacks(page.topics, [name])
        case _:
            due = f", due again at {at(last['due_at'])}" if last["due_at"] else ""
            says = f"Failed {last['attempts']} times{due}: {last['error']}."
            answer = Answer(name, says, _turn(interrogation, state), (*artifacts, *ask))
            return answer.with_tracebacks(page.topics, [name])


def _ask(interrogation: Interrogation, page: Page) -> tuple[str, ...]:
    """The command that asks now; none for a space, whose vectors are made by the batch."""
    if interrogation.is_space:
        return ()
    return (f"holocron ask {interrogation.name} {named(page.title)} --source {page.source.name}",)


def _artifacts(interrogation: Interrogation, page: Page) -> tuple[str, ...]:
    """The command that shows what was asked and answered; none for code, which is not called."""
    if interrogation.is_of_code:
        return ()
    return (f"holocron artifacts {interrogation.name} {named(page.title)}",)


def _why_again(interrogation: Interrogation, state: _State) -> tuple[str, ...] | None:
    """Why an item with an answer is asked about again because of other tables; None if it is not."""
    if not (interrogation.upstream or interrogation.tables_read):
        return None
    if waits := waits_for(state.lake, interrogation, state.partition, state.item):
        return (waits,)
    return changed_inputs(state.lake, interrogation, state.partition, state.item, state.runs)


def _unmet(lake: Lake, interrogation: Interrogation, partition: str, item: str) -> list[str] | None:
    """The conditions that an item does not meet, with the values that they name; None if not known."""
    over = interrogation.over
    types = [TYPE_TABLES[interrogation.wants.of]] if over == "pages" else []
    try:
        tables = [read_table(lake, table, partition) for table in (ROW_TABLES[over], *types)]
    except MissingPartitionError:
        return None
    conditions, values = conditions_of(interrogation)
    own_row = f"{ID_COLUMNS[over]}::varchar = $own_item"
    unmet = []
    for condition in conditions:
        named_values = {name: value for name, value in values.items() if f"${name}" in condition}
        try:
            given = {**named_values, "own_item": item}
            columns = [ID_COLUMNS[over]]
            fit = rows_that_fit(over, tables, [own_row, condition], given, lake, columns=columns)
        except ConditionError as error:
            unmet.append(str(error))
            continue
        if not fit:
            listed = {name: _listed(value) for name, value in named_values.items()}
            words = _UNMET.get(condition)
            unmet.append(words.format_map(listed) if words else f"`{condition}` does not hold")
    return unmet


def _listed(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _turn(interrogation: Interrogation, state: _State) -> tuple[str, ...]:
    """Why it is not asked now: a person holds it back, no model can be asked, or other work goes first."""
    reasons = []
    if (hold := StandingControls(state.lake).hold_of(interrogation, state.partition)) is not None:
        reasons.append(hold)
    chosen = model_to_ask(interrogation, state.served.digests)
    if chosen is None:
        return (
            *reasons,
            state.problem or f"none of its models can be asked: {', '.join(interrogation.models)}",
        )
    if holder := gpu_holder(state.lake):
        reasons.append(f"models are at work: {holder}")
    for decision in state.decisions:
        scores = [score.waiting.interrogation for score in decision.scores]
        if interrogation.name in scores:
            reasons += _before(interrogation.name, chosen[0], decision)
    return tuple(reasons)


def _before(name: str, model: str, decision: Decision) -> list[str]:
    """The work that goes before an interrogation, as the dispatcher decides now."""
    place = [score.waiting.interrogation for score in decision.scores].index(name)
    before = [score for score in decision.scores[:place] if score.waiting.is_due]
    if not before:
        return [f"it is next: {model} is asked by the next run"]
    others = sorted({score.waiting.model for score in before} - {model})
    first = f"{', '.join(others)} is asked before {model}" if others else f"{model} answers others before it"
    return [first, *(_score(score) for score in before[:_MOST_BEFORE])]


def _score(score: Score) -> str:
    work = score.waiting
    amount = f"{work.items} items to ask about" if work.items else f"{work.uncounted} partitions not begun"
    return f"before it: {work.interrogation} by {work.model}, priority {score.priority}, {amount}"
