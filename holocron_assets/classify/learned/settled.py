"""Which pages of a batch are settled and so teach the model, and which are open and so are asked about."""

from collections.abc import Iterator, Mapping

from holocron_assets.classify.decided_types import (
    DECIDED_BY,
    DecidedTypes,
    is_article,
    read_decided_types,
)
from holocron_assets.classify.merge import Answer, counting_answer
from holocron_assets.classify.model_weighing import load_model_weighing
from holocron_assets.classify.rules import METHOD, load_rules
from holocron_assets.classify.taxonomy import UNKNOWN
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition, rows_there
from holocron_assets.lake.freshness import RowsOf
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_SIGNALS, RULE_CLASSIFICATIONS
from holocron_assets.lake.tables.classify import MODEL_TABLE

_TEACHING_STAGES = {"title", "infobox"}
"""What the rules read there teaches. What they read elsewhere, the model reads too, and would only repeat."""


class SettledPages:
    """Reads the settled pages of batches; what all batches share is read once."""

    def __init__(self, lake: Lake) -> None:
        """Read people's decisions, and list the tables."""
        self._lake = lake
        self._decided: RowsOf = read_decided_types(lake)
        self._models = lake.derived_table(MODEL_TABLE)
        self._weighing = load_model_weighing()

    def types(self, batch: str) -> Mapping[int, str]:
        """The types of the settled articles of a batch, by title key."""
        articles = {row["title_key"]: row for row in articles_of(self._lake, batch)}
        decided = DecidedTypes(self._decided(batch))
        answered = rows_there(self._lake, self._models, batch) if self._models else []
        models = {row["title_key"]: row for row in answered}
        found = {}
        for rules in read_partition(self._lake, RULE_CLASSIFICATIONS, batch):
            key = rules["title_key"]
            if signals := articles.get(key):
                decision = decided.about(signals, rules)
                answer = counting_answer(rules, models.get(key), decision, self._weighing)
                if _teaches(answer, rules):
                    found[key] = answer.type
        return found


def articles_of(lake: Lake, batch: str) -> Iterator[Row]:
    """The articles of a batch: rows of table page_signals with few columns.

    What redirects and pages of other namespaces are, the rules know in any language.
    """
    return filter(is_article, read_partition(lake, PAGE_SIGNALS, batch, DECIDED_BY))


def _teaches(answer: Answer, rules: Row) -> bool:
    """Whether an answer is settled, by what the model does not read itself."""
    if answer.needs_review or answer.type == UNKNOWN or answer.confidence < load_rules().weighing.settled:
        return False
    return answer.method != METHOD or any(
        piece["type"] == answer.type and piece["stage"] in _TEACHING_STAGES for piece in rules["evidence"]
    )
