"""An item of an interrogation: the request about one page, chunk, pair or entity, and its result key."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from holocron_assets.derive.code.given import CodeItem, FoundRows
from holocron_assets.derive.evidence.bundles import Bundle
from holocron_assets.derive.evidence.page_parts import QUOTABLE_PARTS, PageParts
from holocron_assets.derive.evidence.quotes import is_quoted
from holocron_assets.derive.interrogations.follow_ups import FollowUpDecision, decide
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.interrogations.templates import rendered
from holocron_assets.derive.items.passages import PagePassages
from holocron_assets.derive.items.prompting import user_part
from holocron_assets.derive.items.tokens import TOKENS_OF_A_TURN, estimate_tokens
from holocron_assets.lake.declaration.keys import content_hash

Pages = Mapping[str, PageParts]
"""The pages of an item, by role: 'page', or of a pair 'first' and 'second'."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Item:
    """One page, chunk of a page, pair of entities or entity, with what is asked about it.

    Attributes:
        interrogation: what is asked.
        partition: the batch, or entity type, that it belongs to.
        item_id: unique in the partition: the page's title key, with '#' and the chunk's number if there is
            one; or the id of the pair or entity.
        source: the page's; for a pair, the first entity's.
        subject: a title, or two, for people; redacted if the interrogation says so.
        row: columns of its rows that do not depend on the answer.
        bundle: the evidence.
        system: the part of the request that all items share.
        variables: the values that templates may name, redacted if the interrogation says so.
        question: the question, which follows the evidence.
        problem: why it cannot be asked; names the page.
        traceback: of the error that is the problem; None if no error is.
        is_transient: whether the problem may be gone when its evidence is gathered again. Any other problem
            stays until page or interrogation changes.
        waits_for: an input without an answer about it yet; until then it has no evidence and no question.
        inputs_hash: a hash of its inputs' answers; None where it has no inputs.
        gather: gathers its evidence again, cut to so many bytes.
        given: the data that code reads, or the passages to embed, instead of evidence; None where a model is
            asked to write.
        quotable: the pages that code may quote. A model may quote its evidence.
    """

    interrogation: Interrogation
    partition: str
    item_id: str
    source: str | None
    subject: str
    row: Mapping[str, Any]
    bundle: Bundle
    system: str = field(repr=False)
    variables: Mapping[str, Any] = field(repr=False)
    question: str
    problem: str | None = None
    traceback: str | None = field(default=None, repr=False)
    is_transient: bool = False
    waits_for: str | None = None
    inputs_hash: str | None = None
    gather: Callable[[int], Bundle] = field(repr=False)
    given: FoundRows | CodeItem | PagePassages | None = field(default=None, repr=False)
    quotable: Pages = field(default_factory=dict, repr=False)

    @property
    def user(self) -> str:
        """The part of the request that is about this item."""
        return user_part(self.bundle.text, self.question)

    @property
    def estimated_tokens(self) -> int:
        """Tokens of the first request without its answer; a high estimate."""
        return estimate_tokens(self.system) + estimate_tokens(self.user) + 2 * TOKENS_OF_A_TURN

    def supports(self, quote: str) -> bool:
        """Whether a quote in its answer is in the text that the answer is from."""
        if not self.quotable:
            return self.bundle.supports(quote)
        texts = (page.part(part) for page in self.quotable.values() for part in QUOTABLE_PARTS)
        return any(is_quoted(quote, text) for text in texts)

    def result_key(self, digest: str) -> str:
        """A hash of all that the answer depends on: no model is asked twice with the same key.

        Args:
            digest: of the model that is asked, or of what runs the code.
        """
        if self.given is not None:
            versions = [self.interrogation.code_version, self.interrogation.schema_version]
            return content_hash(json.dumps([*versions, digest, self.given.content_hash]))
        asked: list[Any] = [self.system, self.user, self.interrogation.retry_prompt]
        if self.interrogation.follow_up:
            steps = self.interrogation.model_dump(mode="json", include={"follow_up"})
            asked += [steps["follow_up"], json.dumps(self.variables)]
        options = self.interrogation.options.model_dump()
        return content_hash(json.dumps([asked, self.interrogation.schema_version, digest, options]))

    def following(self, answers: Sequence[Mapping[str, Any]]) -> FollowUpDecision | None:
        """The question after some answers, and why it is asked; None if all steps were taken.

        Args:
            answers: those so far, the first first; they fit the schema.

        Raises:
            TemplateError: the condition or the template cannot be filled in with these answers.
        """
        decision = decide(self.interrogation.follow_up, self.variables, answers)
        if decision is None or decision.question is None:
            return decision
        return replace(decision, question=user_part("", decision.question))

    def retry_text(self, error: str) -> str | None:
        """The text after an answer that could not be used; None if the engine is to use its own text.

        Args:
            error: what was wrong with it.

        Raises:
            TemplateError: the template cannot be filled in with this error.
        """
        template = self.interrogation.retry_prompt
        if template is None:
            return None
        return user_part("", rendered(template, {**self.variables, "error": error}))

    def shrunk(self, share: float) -> "Item | None":
        """The same item with less evidence, for a server that found the request too long.

        Args:
            share: the share of the evidence's bytes that may stay, between 0 and 1.

        Returns:
            The item; None where there is nothing to cut, or nothing would be left.
        """
        size = len(self.bundle.text.encode())
        bundle = self.gather(int(size * share))
        if not bundle.items or len(bundle.text) >= len(self.bundle.text):
            return None
        return replace(self, bundle=bundle)
