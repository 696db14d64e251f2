"""What the sentences of a page's lead state of its subject, read by patterns and without a model.

A relation is read where a pattern of `vocabulary.yaml` stands between the subject and a name that the page
links. So the other end is known by its link, and its type is checked when the link's entity is known. A fact
is read where a text shows its values: words of a list, dates and numbers.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, islice

from holocron_assets.derive.code.given import CodeItem
from holocron_assets.entities.facts.dates import find_dates
from holocron_assets.entities.facts.sentences import (
    LONGEST_SENTENCE,
    PageRead,
    load_sentences,
    mentions,
    name_pattern,
    states_fact,
    states_relation,
)
from holocron_assets.entities.facts.vocabulary import FactEntry, load_vocabulary
from holocron_assets.entities.names.linked_names import linked_names
from holocron_assets.entities.names.naming import Names
from holocron_assets.languages.language import language_code

MOST_STATEMENTS = 60
"""Of a page. A lead that says more is a list."""

_NUMBER = re.compile(
    r"\d[\d,]*(?:\.\d+)?(?: (?:[a-z]*met(?:er|re)s?|[a-z]*grams?|ton(?:ne)?s?|feet|pounds))?"
)


def statements_of_page(item: CodeItem) -> Iterator[dict[str, str]]:
    """What a page's lead states; the function of interrogation `sentence_statements`.

    Args:
        item: a page.

    Yields:
        Rows of `kind`, `key`, `other`, `to_title` and `evidence`, each once.
    """
    page = PageRead(item.page.title, item.page.part("lead"), item.page.language)
    page_type = str(item.variables["primary_type"])
    links = linked_names(item.page.wikitext, language_code(item.page.language), item.page.site)
    found = chain(stated_facts(page, page_type), stated_relations(page, links, page_type))
    yield from islice(found, MOST_STATEMENTS)


def stated_relations(page: PageRead, links: Mapping[str, str], page_type: str) -> Iterator[dict[str, str]]:
    """The relations of a page's subject that its sentences state, each once.

    Args:
        page: the page.
        links: names of others, with their titles.
        page_type: the page's entity type.

    Yields:
        Rows as `statements_of_page` gives them.
    """
    words, subjects = load_vocabulary(), page.subject(page.title)
    fitting = [one for one in words.relations.values() if not one.from_types or page_type in one.from_types]
    seen = set()
    others = [name for name in links if name in page.text and not page.is_own(name)]
    for sentence in _plain(page):
        names = [name for name in others if name in sentence]
        for name in names if names and _names(sentence, subjects) else ():
            ends = page.title, name
            for relation in (one for one in fitting if states_relation(one, words, ends, page, sentence)):
                if (relation.key, links[name]) not in seen:
                    seen.add((relation.key, links[name]))
                    yield _row("relation", relation.key, name, links[name], sentence)


def stated_facts(page: PageRead, page_type: str) -> Iterator[dict[str, str]]:
    """The facts of a page's subject that its sentences state, each once; of keys whose values a text shows.

    Args:
        page: the page.
        page_type: the page's entity type.

    Yields:
        Rows as `statements_of_page` gives them.
    """
    subjects, language = page.subject(page.title), language_code(page.language)
    keys = [(key, one) for key, one in load_vocabulary().facts.items() if not one.of or page_type in one.of]
    seen = set()
    for sentence in _plain(page):
        in_sentence = _Values(sentence, language)
        values = [(key, entry, value) for key, entry in keys for value in in_sentence.of(entry)]
        for key, entry, value in values if values and _names(sentence, subjects, owner=True) else ():
            stated = any(states_fact(one, value, sentence, subjects) for one in entry.says)
            if stated and (key, value) not in seen:
                seen.add((key, value))
                yield _row("fact", key, value, "", sentence)


def _row(kind: str, key: str, other: str, to_title: str, sentence: str) -> dict[str, str]:
    return {"kind": kind, "key": key, "other": other, "to_title": to_title, "evidence": sentence}


@dataclass(frozen=True)
class _Values:
    """What in a sentence may be a value. Many keys have values of one kind, which are searched for once."""

    sentence: str
    language: str

    def of(self, entry: FactEntry) -> list[str]:
        """Those of a key; none for a key whose values are any text."""
        if entry.value == "number":
            return self._numbers
        if entry.value == "date":
            return self._dates
        if isinstance(entry.value, tuple):
            return [one for one in entry.value if _word(one).search(self.sentence)]
        return []

    @cached_property
    def _numbers(self) -> list[str]:
        return _NUMBER.findall(self.sentence)

    @cached_property
    def _dates(self) -> list[str]:
        return [one.written for one in find_dates(self.sentence, self.language, in_prose=True)]


@cache
def _word(value: str) -> re.Pattern[str]:
    return re.compile(name_pattern(value))


def _plain(page: PageRead) -> Iterator[str]:
    """The sentences that state something. Few of them have a value or a name, which is quick to find out."""
    hedge = load_sentences().hedge
    for sentence in page.sentences:
        if len(sentence) <= LONGEST_SENTENCE and not hedge.search(sentence):
            yield sentence


def _names(sentence: str, subjects: Names, *, owner: bool = False) -> bool:
    """Whether a sentence names the subject."""
    return any(mentions(subjects, sentence, owner=owner))
