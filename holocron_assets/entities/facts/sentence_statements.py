"""Relations that the sentences of a page's lead state of its subject, read by patterns and without a model.

A relation is read where a pattern of `vocabulary.yaml` stands between the subject and a name that the page
links. So the other end is known by its link, and its type is checked when the link's entity is known.
"""

import re
from collections.abc import Iterator, Mapping

from holocron_assets.derive.code.given import CodeItem
from holocron_assets.entities.facts.sentences import (
    LONGEST_SENTENCE,
    PageRead,
    load_sentences,
    mentions,
    states_relation,
)
from holocron_assets.entities.facts.vocabulary import load_vocabulary

MOST_RELATIONS = 40
"""Of a page. A lead that says more is a list."""

_LINK = re.compile(r"\[\[([^\[\]|#]+)(?:#[^\[\]|]*)?(?:\|([^\[\]]*))?\]\](\w*)")
_MARKS = re.compile(r"'{2,}")
_SHORTEST_NAME = 3


def relations_of_page(item: CodeItem) -> Iterator[dict[str, str]]:
    """The relations that a page's lead states; the function of interrogation `sentence_relations`.

    Args:
        item: a page.

    Yields:
        Rows of `from_name`, `relation`, `to_name`, `to_title` and `evidence`, each once.
    """
    page = PageRead(item.page.title, item.page.part("lead"))
    found = stated_relations(page, linked_names(item.page.wikitext), str(item.variables["primary_type"]))
    for number, row in enumerate(found):
        if number == MOST_RELATIONS:
            return
        yield row


def linked_names(wikitext: str) -> Mapping[str, str]:
    """The names under which a page links to others, with the titles that they lead to.

    A name that leads to two titles is left out, and so are files, categories and other wikis.
    """
    found: dict[str, str] = {}
    ambiguous = set()
    for link in _LINK.finditer(wikitext):
        title = link[1].strip().replace("_", " ")
        name = _MARKS.sub("", (link[2] or link[1]).strip()) + link[3]
        if ":" in title.split(" ")[0] or len(name) < _SHORTEST_NAME or not title:
            continue
        if found.setdefault(name, title) != title:
            ambiguous.add(name)
    return {name: title for name, title in found.items() if name not in ambiguous}


def stated_relations(page: PageRead, links: Mapping[str, str], page_type: str) -> Iterator[dict[str, str]]:
    """The relations of a page's subject that its sentences state, each once.

    Args:
        page: the page.
        links: names of others, with their titles.
        page_type: the page's entity type.

    Yields:
        Rows as `relations_of_page` gives them.
    """
    words, subjects = load_vocabulary(), page.subject(page.title)
    fitting = [one for one in words.relations.values() if not one.from_types or page_type in one.from_types]
    seen = set()
    for sentence in page.sentences:
        if not _may_state(sentence, subjects):
            continue
        for name in (name for name in links if name in sentence and not page.is_own(name)):
            ends = page.title, name
            for relation in (one for one in fitting if states_relation(one, words, ends, page, sentence)):
                if (relation.key, links[name]) not in seen:
                    seen.add((relation.key, links[name]))
                    yield {
                        "from_name": page.title,
                        "relation": relation.key,
                        "to_name": name,
                        "to_title": links[name],
                        "evidence": sentence,
                    }


def _may_state(sentence: str, subjects: str) -> bool:
    return (
        len(sentence) <= LONGEST_SENTENCE
        and not load_sentences().hedge.search(sentence)
        and any(mentions(subjects, sentence))
    )
