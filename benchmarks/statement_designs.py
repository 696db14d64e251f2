"""Ways to read statements from pages, for `statement_precision.py`: patterns, models, and both.

- sentence   patterns of the vocabulary over the lead, no model: what is shipped as `sentence_statements`
- model      the shipped `entity_facts` and `relationship_extraction`: statements in keys of the vocabulary
- checked    those of them that no check speaks against: the shipped `statement_checks`
- question   those of `model` with a quote on the page, and a yes of the same model to a second question
- choice     for each two linked names of a sentence, the model chooses among the relations that fit, or none
"""

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from model_accuracy import Page, asked, of_all_pages, write_batch
from statement_truth import Statement, World, lead_text, page_read, plain

from holocron_assets.derive.engine.engine import open_client
from holocron_assets.derive.server.process.connection import model_server
from holocron_assets.entities.facts.checks import failed_checks, plain_key, statement_of
from holocron_assets.entities.facts.sentence_statements import stated_facts, stated_relations
from holocron_assets.entities.facts.sentences import PageRead
from holocron_assets.entities.facts.vocabulary import Kind, Relation, load_vocabulary
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_RUNS

INTERROGATIONS: tuple[tuple[Kind, str], ...] = (
    ("fact", "entity_facts"),
    ("relation", "relationship_extraction"),
)
_NONE = "none"
_LONGEST_ANSWER = 24


@dataclass(frozen=True)
class Read:
    """What a design read.

    Attributes:
        statements: in the order in which they were read; those of keys that the vocabulary has.
        seconds: machine time.
        pages: number of pages.
        unmapped: number of statements of other keys.
    """

    statements: Sequence[Statement]
    seconds: float
    pages: int
    unmapped: int = 0


def by_sentences(pages: Sequence[Page], world: World) -> Read:
    """What patterns read; a relation only to an entity of a type that fits, as the entity tables have it."""
    started = time.process_time()
    found: list[Statement] = []
    relations = load_vocabulary().relations
    for page in pages:
        read, of_type = page_read(page), page.truth[0]
        found.extend(_statement(read, row) for row in stated_facts(read, of_type))
        for row in stated_relations(read, world.links(read.text), of_type):
            to_types, to = relations[row["key"]].to_types, world.types.get(row["to_title"])
            if to and (not to_types or to in to_types):
                found.append(_statement(read, row))
    return Read(found, time.process_time() - started, len(pages))


def _statement(read: PageRead, row: Mapping[str, str]) -> Statement:
    return Statement(read.title, "fact" if row["kind"] == "fact" else "relation", *_rest(row))


def _rest(row: Mapping[str, str]) -> tuple[str, str, str]:
    return row["key"], row["other"], row["evidence"]


def by_model(pages: Sequence[Page], model: str, folder: Path) -> tuple[Read, Read]:
    """What the shipped interrogations make a model say, and what of it no check speaks against."""
    lake = Lake(folder)
    batch = write_batch(lake, pages)
    reads = {page.case.title: PageRead(page.case.title, lead_text(page.case.wikitext)) for page in pages}
    said, passed, unmapped, seconds = [], [], 0, 0.0
    for kind, key in INTERROGATIONS:
        for row in asyncio.run(asked(lake, batch, model, None, of_all_pages(key))):
            one = _from_subject(kind, row, reads[row["title"]])
            if one is None:
                unmapped += 1
                continue
            said.append(one)
            if not failed_checks(statement_of(kind, row, row["title"]), reads[row["title"]]):
                passed.append(one)
        rows = read_partition(lake, LLM_RUNS, f"{key}-{batch}")
        seconds += sum((row["prompt_ms"] + row["generation_ms"]) / 1000 for row in rows)
    first = Read(said, seconds, len(pages), unmapped)
    return first, replace(first, statements=passed)


def _from_subject(kind: Kind, row: Mapping[str, Any], read: PageRead) -> Statement | None:
    """A model's row as seen from the page's subject; None if it is of others, or its key is unknown."""
    words, said = load_vocabulary(), statement_of(kind, row, read.title)
    key = words.key_of(kind, plain_key(said.key))
    if key is None:
        return None
    if kind == "fact" or read.is_own(said.subject):
        return Statement(read.title, kind, key, said.other, said.evidence)
    if not read.is_own(said.other):
        return None
    back = words.relations[key].inverse
    return Statement(read.title, kind, back, said.subject, said.evidence) if back else None


class Asking:
    """Short questions to a model, answered by one of a few words; answers are kept in a file.

    Attributes:
        model: its name.
        kept: file of JSON lines: question, answer and seconds.
    """

    def __init__(self, model: str, kept: Path) -> None:
        self.model, self.kept = model, kept
        lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
        self._answers = {row["prompt"]: row for row in map(json.loads, lines)}

    async def answers(self, asked: Sequence[tuple[str, Sequence[str]]]) -> tuple[list[str], float]:
        """The answers to prompts, in order, and the seconds that they took.

        Args:
            asked: prompts, each with the words that may answer it.
        """
        with model_server() as url:
            if url is None:
                raise SystemExit("no model server may be used: HOLOCRON_LLM is off")
            async with open_client(url) as client:
                for prompt, words in asked:
                    if prompt not in self._answers:
                        await self._ask(client, prompt, words)
        rows = [self._answers[prompt] for prompt, _ in asked]
        return [row["answer"] for row in rows], sum(row["seconds"] for row in rows)

    async def _ask(self, client: Any, prompt: str, words: Sequence[str]) -> None:
        started = time.monotonic()
        reply = await client.chat(
            model=self.model,
            messages=[{"role": "user", "content": prompt}],
            format={
                "type": "object",
                "properties": {"answer": {"enum": list(words)}},
                "required": ["answer"],
            },
            options={"temperature": 0, "num_predict": _LONGEST_ANSWER, "num_ctx": 4096},
        )
        row = {
            "prompt": prompt,
            "answer": json.loads(reply["message"]["content"])["answer"],
            "seconds": time.monotonic() - started,
        }
        self._answers[prompt] = row
        with self.kept.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(row) + "\n")


def by_question(model: Read, pages: Sequence[Page], asking: Asking) -> Read:
    """What of a model's statements it says yes to when asked again in the vocabulary's words."""
    reads = {page.case.title: page_read(page) for page in pages}
    quoted = [
        (one, sentence)
        for one in model.statements
        if (sentence := reads[one.page].sentence(one.evidence)) is not None
    ]
    prompts = [(_question(one, sentence), ("yes", "no", "unclear")) for one, sentence in quoted]
    answers, seconds = asyncio.run(asking.answers(prompts))
    said = [one for (one, _), answer in zip(quoted, answers, strict=True) if answer == "yes"]
    return replace(model, statements=said, seconds=model.seconds + seconds)


def _question(one: Statement, sentence: str) -> str:
    words = load_vocabulary()
    if one.kind == "fact":
        entry = words.facts[one.key]
        claim = f"{entry.means.replace('FROM', one.page)}: {one.other}"
        examples = (entry.example, entry.counter_example)
    else:
        relation = words.file.relations.get(one.key)
        ends = (one.page, one.other)
        if relation is None:
            relation = words.file.relations[str(words.relations[one.key].inverse)]
            ends = ends[::-1]
        claim = relation.means.replace("FROM", ends[0]).replace("TO", ends[1])
        examples = (relation.example, relation.counter_example)
    return (
        f"Does the sentence say this? Answer yes, no or unclear.\nClaim: {claim}.\n"
        f"A sentence that says such a thing: {examples[0]}\nOne that does not: {examples[1]}\n"
        f"The sentence, from a page about {one.page}: {sentence}"
    )


def by_choice(pages: Sequence[Page], world: World, asking: Asking) -> Read:
    """For each linked name in a sentence of the lead, the relation that the model chooses, unless none."""
    candidates = [one for page in pages for one in _candidates(page, world)]
    prompts = [
        (_choice(read, name, sentence, fitting), [*(one.key for one in fitting), _NONE])
        for read, name, sentence, fitting in candidates
    ]
    answers, seconds = asyncio.run(asking.answers(prompts))
    found = [
        Statement(read.title, "relation", answer, name, sentence)
        for (read, name, sentence, _), answer in zip(candidates, answers, strict=True)
        if answer != _NONE
    ]
    return Read(found, seconds, len(pages))


def _candidates(page: Page, world: World) -> Iterator[tuple[PageRead, str, str, list[Relation]]]:
    read = page_read(page)
    links = world.links(read.text)
    for sentence in read.sentences:
        for name, title in links.items():
            to = world.types.get(title)
            if name not in sentence or read.is_own(name) or to is None:
                continue
            fitting = [one for one in load_vocabulary().relations.values() if _fits(one, page.truth[0], to)]
            if fitting:
                yield read, name, sentence, fitting


def _fits(relation: Relation, of_type: str, to_type: str) -> bool:
    from_types, to_types = relation.from_types, relation.to_types
    return (not from_types or of_type in from_types) and (not to_types or to_type in to_types)


def _choice(read: PageRead, name: str, sentence: str, fitting: Sequence[Relation]) -> str:
    file = load_vocabulary().file.relations
    lines = []
    for one in fitting:
        if one.key in file:
            means = file[one.key].means.replace("FROM", read.short_title).replace("TO", name)
        else:
            means = file[str(one.inverse)].means.replace("FROM", name).replace("TO", read.short_title)
        lines.append(f"- {one.key}: {means}")
    return (
        f"What does the sentence say of {read.short_title} and {name}? Choose one.\n"
        + "\n".join(lines)
        + f"\n- {_NONE}: the sentence says none of these\n"
        f"The sentence, from a page about {plain(read.title)}: {sentence}"
    )
