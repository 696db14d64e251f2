"""The rules' answer to the question what a page is about."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from holocron_assets.classify.category_stage import CategoryStage
from holocron_assets.classify.evidence import Evidence
from holocron_assets.classify.infobox_stage import InfoboxStage
from holocron_assets.classify.lead_stage import LeadStage
from holocron_assets.classify.rule_file import RULES_FOLDER, read_rule_folder, rules_version
from holocron_assets.classify.rules_of_language import in_language
from holocron_assets.classify.taxonomy import WORK, Taxonomy, load_taxonomy
from holocron_assets.classify.title_stage import TitleStage
from holocron_assets.classify.vocabulary import Vocabulary
from holocron_assets.classify.weighing import Verdict, Weighing, read_weighing, weigh
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.languages.language import ENGLISH, language_code, load_language

METHOD = "rules"

_WEIGHING_FILE = "weighing.yaml"
NOT_SAID = "unknown"
"""Medium or continuity of a work if nothing says it."""

_BOTH = "both"


class RuleBook:
    """All rules of a folder, compiled for one language."""

    def __init__(self, folder: Path, language: str = ENGLISH) -> None:
        """Read, validate and index the rules.

        Args:
            folder: the folder.
            language: code of the language of the pages, as `language_code` gives it.

        Raises:
            RuleError: a file cannot be read, a rule is not valid, or two rules have the same id, noun or
                template. It names the file and the rule.
            LanguageError: the language's file cannot be used.
        """
        english = read_rule_folder(folder, {_WEIGHING_FILE})
        names = [Vocabulary(english, load_language(ENGLISH).grammar)]
        rules, words = english, load_language(language)
        if language != ENGLISH:
            rules = in_language(english, words.rules, words.name or language)
            names.append(Vocabulary(rules, words.grammar))
        vocabulary, grammar = names[-1], words.grammar
        self.rules = {rule.id: rule for rule in english}
        self.weighing = read_weighing(folder / _WEIGHING_FILE)
        self.version = rules_version(folder)
        self._title = TitleStage(rules, vocabulary, grammar)
        # A French wiki's "Personnage (fiction)" is no work, as it would be in English.
        self._infobox = InfoboxStage(rules, names[::-1], words.english_labels(), self.weighing.settled)
        self._category = CategoryStage(rules, vocabulary, grammar)
        self._lead = LeadStage(rules, vocabulary, grammar, self.weighing.subject_share)

    def evidence(self, signals: Row) -> list[Evidence]:
        """Every rule that fires on a page (a row of table page_signals), stage by stage."""
        found = self._title.evidence(signals)
        if self._title.ends_reading(found):
            return found
        found += self._infobox.evidence(signals, self._lead.names_one)
        found += self._category.evidence(signals)
        found += self._lead.evidence(signals)
        return found

    def settles(self, template: str) -> bool:
        """Whether a rule settles the type of pages by the name of their infobox template alone."""
        found = self._infobox.of_name(template)
        return found is not None and found.confidence >= self.weighing.settled

    def type_of_members(self, category: str) -> str | None:
        """The type of a category's members by its head noun ("Moons of Ondrel"); None if no rule knows it."""
        found = self._category.of_name(category)
        return found.type if found else None


def load_rules(language: str | None = None) -> RuleBook:
    """The project's rules, compiled once per process and language (see `RuleBook`).

    Args:
        language: what the wiki says of its language; English by default.
    """
    return _rules_in(language_code(language))


@cache
def _rules_in(language: str) -> RuleBook:
    return RuleBook(RULES_FOLDER, language)


def classify_page(signals: Row, book: RuleBook | None = None) -> Row:
    """What the rules say of one page.

    Args:
        signals: a row of table page_signals.
        book: the rules to use; by default the project's own, in English.

    Returns:
        A row of table rule_classifications.
    """
    book = book or load_rules()
    return _row(signals, book.evidence(signals), book)


def is_open(rules: Row) -> bool:
    """Whether the rules leave a page's type open (`rules` is its row of table rule_classifications)."""
    return bool(rules["needs_review"] or rules["confidence"] < _weighing().settled)


@cache
def _weighing() -> Weighing:
    """The project's thresholds alone: to read all rules takes a third of a second."""
    return read_weighing(RULES_FOLDER / _WEIGHING_FILE)


def unclassified_row(signals: Row) -> Row:
    """The row of table rule_classifications for a page about which the rules say nothing."""
    return _row(signals, [], load_rules())


def _row(signals: Row, evidence: Sequence[Evidence], book: RuleBook) -> Row:
    taxonomy = load_taxonomy()
    verdict = weigh(evidence, book.weighing, taxonomy.wider_types)
    is_work = verdict.type == WORK
    return {
        "source": signals["source"],
        "batch": signals["batch"],
        "title": signals["title"],
        "title_key": signals["title_key"],
        "revision_id": signals["revision_id"],
        "method": METHOD,
        "primary_type": verdict.type,
        "types": [{"type": name, "weight": weight} for name, weight in verdict.weights],
        "confidence": verdict.confidence,
        "needs_review": verdict.needs_review,
        "work_medium": _medium(evidence) if is_work else None,
        "canon_context": canon_context(signals, taxonomy) if is_work else None,
        "rule_ids": _deciding_rules(evidence, verdict),
        "evidence": [piece.as_row() for piece in evidence],
        "taxonomy_version": taxonomy.taxonomy_version,
        "rules_version": book.version,
    }


def _deciding_rules(evidence: Sequence[Evidence], verdict: Verdict) -> list[str]:
    deciding = sorted((p for p in evidence if p.type == verdict.type), key=lambda piece: -piece.confidence)
    return list(dict.fromkeys(piece.rule_id for piece in deciding))


def _medium(evidence: Sequence[Evidence]) -> str:
    """The medium of the surest rule that knows one."""
    stating = [piece for piece in evidence if piece.work_medium not in {None, NOT_SAID}]
    surest = max(stating, key=lambda piece: piece.confidence, default=None)
    return (surest.work_medium if surest else None) or NOT_SAID


def canon_context(signals: Row, taxonomy: Taxonomy) -> str:
    """The continuity of the story in a work, which the work's page states in addition to 'real'.

    Args:
        signals: the page's row of table page_signals.
        taxonomy: has the continuities.

    Returns:
        One of the taxonomy's `canon_contexts`.
    """
    if signals["continuity"] in taxonomy.canon_contexts and signals["continuity"] != NOT_SAID:
        return str(signals["continuity"])
    markers = [marker.rpartition("=")[2] for marker in signals["continuity_evidence"]]
    openings = [category.partition(" ")[0].casefold() for category in signals["categories"]]
    named = {word for word in (*markers, *openings) if word in taxonomy.canon_contexts} - {_BOTH, NOT_SAID}
    return NOT_SAID if not named else named.pop() if len(named) == 1 else _BOTH
