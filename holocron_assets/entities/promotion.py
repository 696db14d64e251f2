"""The promotion policy: data that says which state an entity has, and why."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, StrictStr, model_validator

from holocron_assets.classify.learned.shares import wilson_interval
from holocron_assets.entities.data_files import DataFileError, read_data_file, types_completed
from holocron_assets.frozen_model import FrozenModel, StrictShare
from holocron_assets.lake.declaration.schema import Row

DEFAULT_POLICY_FILE = Path(__file__).with_name("promotion.yaml")
DEFAULT_WORTH_FILE = Path(__file__).with_name("rule_worth.yaml")
"""How often rules were right, as measured by `benchmarks/rule_worth.py`."""


State = Literal["staged", "candidate", "promoted", "adjudicated", "suppressed", "merged"]
Evidence = Literal["page", "lead"]


class Decision(NamedTuple):
    """A state, who set it, and why."""

    state: State
    state_by: str
    state_reason: str


def by_person(decision: Row) -> Decision:
    """The state that a person's decision, of kind 'promote' or 'suppress', gives an entity."""
    state: State = "adjudicated" if decision["kind"] == "promote" else "suppressed"
    return Decision(state, f"person:{decision['author']}", decision["reason"])


class Thresholds(FrozenModel):
    """Confidence, between 0 and 1, from which an entity has each state, and what else promotion needs."""

    staged: StrictShare
    candidate: StrictShare
    promoted: StrictShare
    requires: tuple[Evidence, ...]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.promoted < self.candidate:
            raise ValueError(f"promoted ({self.promoted}) is below candidate ({self.candidate})")
        if self.candidate < self.staged:
            raise ValueError(f"candidate ({self.candidate}) is below staged ({self.staged})")
        return self


class RuleWorth(FrozenModel):
    """How often a rule was right about pages that it typed without being sure."""

    right: Annotated[int, Field(strict=True, ge=0)]
    pages: Annotated[int, Field(strict=True, ge=1)]

    @property
    def least_share(self) -> float:
        """The lower bound of the share of right ones: 39 of 40 true shares are above it."""
        return wilson_interval(self.right, self.pages)[0]


class RuleWorths(FrozenModel):
    """The worth of rules by their id."""

    rules: dict[str, RuleWorth]


class PromotionPolicy(FrozenModel):
    """Thresholds by type, under an id that every state set by them names."""

    id: Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    default: Thresholds
    types: dict[str, Thresholds]
    fewest_pages: Annotated[int, Field(strict=True, ge=1)] = 30
    worths: RuleWorths = RuleWorths(rules={})

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, content: Any) -> Any:
        return types_completed(content)

    @property
    def author(self) -> str:
        """The value of `state_by` for states by this policy."""
        return f"policy:{self.id}"

    def decide(self, candidate: Row) -> Decision:
        """The state of an entity that a row of `entity_candidates` stands for.

        The reason names thresholds and not the page's own figure. So it stays true, and the history does not
        grow, while the confidence moves between two thresholds.
        """
        limits = self.types.get(candidate["entity_type"], self.default)
        if candidate["confidence"] < limits.candidate:
            return self._decision("staged", f"Staged: confidence is below {limits.candidate:.2f}")
        is_sure = candidate["confidence"] >= limits.promoted
        is_measured = not is_sure and self._measured(candidate) >= limits.promoted
        if missing := _missing_for_promotion(candidate, limits, is_sure=is_sure or is_measured):
            return self._decision("candidate", f"Not promoted: {', '.join(missing)}")
        of_whom = "Measured confidence of its rule" if is_measured else "Confidence"
        return self._decision(
            "promoted", ", ".join([f"{of_whom} is {limits.promoted:.2f} or above", *_found(limits)])
        )

    def _measured(self, candidate: Row) -> float:
        """The measured confidence of the rule that typed a page; 0 if none did, or too few were counted."""
        rule = next(iter(candidate["rule_ids"]), None) if candidate["method"] == "rules" else None
        worth = self.worths.rules.get(rule or "")
        return worth.least_share if worth and worth.pages >= self.fewest_pages else 0.0

    def suppress(self, entity: Row) -> Decision:
        """The state of an entity (a row of `entities`) that no current page supports."""
        if entity["origin"] == "mention":
            return self._decision("suppressed", f"No list names {entity['title']!r} any more")
        return self._decision(
            "suppressed",
            f"The page {entity['title']!r} is no longer typed {entity['entity_type']} surely enough, "
            "has become a redirect, or is gone",
        )

    def keep(self, entity: Row) -> Decision:
        """The state of an entity that keeps its type although its page has another type now."""
        if entity["state"] in {"staged", "candidate", "promoted"}:
            return Decision(entity["state"], entity["state_by"], entity["state_reason"])
        return self._decision("candidate", "Not promoted: its page is typed otherwise now")

    def _decision(self, state: State, reason: str) -> Decision:
        return Decision(state, self.author, reason)


_LACKING: Mapping[Evidence, str] = {"page": "only a list names it", "lead": "the page has no lead"}
_FOUND: Mapping[Evidence, str] = {"page": "a page is about it", "lead": "the page has a lead"}


def _missing_for_promotion(candidate: Row, limits: Thresholds, *, is_sure: bool) -> list[str]:
    is_mention = candidate["origin"] == "mention"
    is_there: Mapping[Evidence, bool] = {"page": not is_mention, "lead": candidate["has_lead"]}
    doubt = "no list has the words that name it" if is_mention else "the page needs review"
    missing = [] if is_sure else [f"confidence is below {limits.promoted:.2f}"]
    missing += [doubt] if candidate["needs_review"] else []
    return missing + [_LACKING[evidence] for evidence in limits.requires if not is_there[evidence]]


def _found(limits: Thresholds) -> list[str]:
    return [*(_FOUND[evidence] for evidence in limits.requires), "nobody needs to look"]


@cache
def entity_from(entity_type: str) -> float:
    """Confidence from which a page of a type becomes an entity, by the shipped policy.

    Raises:
        DataFileError: the policy's file cannot be used.
    """
    policy = read_data_file(DEFAULT_POLICY_FILE, PromotionPolicy)
    return policy.types.get(entity_type, policy.default).staged


def load_policy(path: Path, entity_types: AbstractSet[str]) -> PromotionPolicy:
    """Read and validate a policy file, and how often rules were right.

    Args:
        path: a YAML file with the keys `id`, `default` and `types`, as in `promotion.yaml`.
        entity_types: the taxonomy's entity-worthy types; only these may have thresholds of their own.

    Returns:
        The policy.

    Raises:
        DataFileError: a file is missing or not YAML, or a key is missing, unknown or out of range.
    """
    policy = read_data_file(path, PromotionPolicy)
    if unknown := sorted(policy.types.keys() - entity_types):
        raise DataFileError(
            f"{path}: types.{unknown[0]}: no entity-worthy type; use one of {sorted(entity_types)}"
        )
    return policy.model_copy(update={"worths": read_data_file(DEFAULT_WORTH_FILE, RuleWorths)})
