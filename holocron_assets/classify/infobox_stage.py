"""Second stage: what the infobox's template says of the type, or else its fields."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from holocron_assets.classify.evidence import Evidence, fired
from holocron_assets.classify.rule_file import Rule
from holocron_assets.classify.vocabulary import Vocabulary
from holocron_assets.lake.declaration.schema import Row

_NOT_WORDS = re.compile(r"[^\w']+|_+")
_FIELD_PLURAL = re.compile(r"_s$")


class InfoboxStage:
    """Recognizes infobox templates by name, by head noun ("Infobox film director"), and by their fields."""

    def __init__(
        self,
        rules: Sequence[Rule],
        vocabularies: Sequence[Vocabulary],
        labels: Mapping[str, str],
        settled: float,
    ) -> None:
        """Index template names.

        Args:
            rules: all rules; those that cannot fire on infoboxes are ignored.
            vocabularies: head nouns for names that no rule lists. The first that knows a name counts.
            labels: the English names of the language's fields.
            settled: confidence from which a name needs no support from fields.
        """
        self._vocabularies = vocabularies
        self._labels = labels
        self._settled = settled
        self._templates = {_plain(template): rule for rule in rules for template in rule.templates or ()}
        self._of_individuals = {rule.id: rule.when_individual for rule in rules if rule.when_individual}
        self._fields = [(rule, rule.fields) for rule in rules if rule.fields]

    def evidence(self, signals: Row, names_one: Callable[[Row], bool]) -> list[Evidence]:
        """The evidence of a page's infobox for its type (from a row of table page_signals).

        Args:
            signals: the page's row.
            names_one: whether a page is about one individual; then "Infobox monster" is about that one.
        """
        template = signals["infobox_template"]
        if not template:
            return []
        named = self.of_name(template)
        reading = self._of_individuals.get(named.rule_id) if named else None
        if named and reading and names_one(signals):
            named = named.read_as(reading)
        if named and named.confidence >= self._settled:
            return [named]
        return ([named] if named else []) + list(self._by_fields(signals["infobox_fields"]))

    def of_name(self, template: str) -> Evidence | None:
        """What the name of a template says of its pages; None if no rule knows it."""
        plain = _plain(template)
        rule = self._templates.get(plain)
        if rule:
            return fired(rule, "infobox", template)
        for vocabulary in self._vocabularies:
            words = [word for word in plain.split() if word not in vocabulary.grammar.infobox_words]
            if head := vocabulary.head(words, "infobox"):
                return fired(head.rule, "infobox", template)
        return None

    def _by_fields(self, fields: Sequence[Row]) -> Iterator[Evidence]:
        names = {self._field_name(field["name"]) for field in fields}
        for rule, expected in self._fields:
            present = names & expected
            if len(present) >= rule.at_least:
                yield fired(rule, "infobox", "fields " + ", ".join(sorted(present)))

    def _field_name(self, name: str) -> str:
        plain = _plain(name)
        return _FIELD_PLURAL.sub("", self._labels.get(plain, plain).replace(" ", "_"))


def _plain(template: str) -> str:
    """A template's name in lower case, with one space between words."""
    return " ".join(_NOT_WORDS.sub(" ", template.casefold()).split())
