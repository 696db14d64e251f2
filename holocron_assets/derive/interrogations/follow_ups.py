"""Follow-ups: questions after an answer, depending on the answers so far."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    StrictStr,
    model_validator,
)

from holocron_assets.derive.interrogations.templates import holds, rendered
from holocron_assets.frozen_model import FrozenModel

_Text = Annotated[StrictStr, Field(pattern=r"\S")]


class FollowUp(FrozenModel):
    """One step: a further question, perhaps only if a condition holds.

    Attributes:
        when: a Jinja expression over the answers so far; always, if left out.
        ask: a template of the question where it holds.
        otherwise: a template of the question where it does not hold; if left out, nothing more is asked.
    """

    when: _Text | None = None
    ask: _Text
    otherwise: _Text | None = None

    @model_validator(mode="after")
    def _otherwise_needs_a_condition(self) -> Self:
        if self.otherwise is not None and self.when is None:
            raise ValueError("otherwise: is never asked without a condition; say `when`")
        return self

    @property
    def questions(self) -> tuple[str, ...]:
        """The templates of what may be asked."""
        return tuple(text for text in (self.ask, self.otherwise) if text is not None)


@dataclass(frozen=True, slots=True)
class FollowUpDecision:
    """The decision after an answer.

    Attributes:
        step: number of the step that decided, from 1.
        when: its condition; None if it has none.
        holds: whether the condition holds.
        chosen: what the step does then.
        question: the question, filled in; None if nothing is asked.
    """

    step: int
    when: str | None
    holds: bool
    chosen: Literal["ask", "otherwise", "stop"]
    question: str | None

    def to_json(self) -> str:
        """The decision as JSON, for table `llm_attempts`."""
        return json.dumps(asdict(self), ensure_ascii=False)


def decide(
    steps: Sequence[FollowUp], variables: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]
) -> FollowUpDecision | None:
    """The decision after some answers; None if all steps were taken.

    Args:
        steps: of the interrogation.
        variables: what its question may name.
        answers: those so far, the first first: one more than steps that were taken.

    Raises:
        TemplateError: the condition or the template cannot be filled in with these answers.
    """
    if len(answers) > len(steps):
        return None
    step = steps[len(answers) - 1]
    named = {**variables, "answer": answers[-1], "answers": list(answers)}
    is_true = step.when is None or holds(step.when, named)
    template = step.ask if is_true else step.otherwise
    return FollowUpDecision(
        step=len(answers),
        when=step.when,
        holds=is_true,
        chosen="stop" if template is None else "ask" if is_true else "otherwise",
        question=None if template is None else rendered(template, named),
    )


def _as_steps(written: Any) -> Any:
    return [{"ask": written}] if isinstance(written, str) else written


def _as_written(steps: Sequence[FollowUp]) -> Any:
    """The shortest way to write the steps, which hashes are made of."""
    if not steps:
        return None
    if len(steps) == 1 and steps[0].when is None:
        return steps[0].ask
    return [step.model_dump(exclude_defaults=True) for step in steps]


FollowUps = Annotated[
    tuple[FollowUp, ...], BeforeValidator(_as_steps), PlainSerializer(_as_written, return_type=Any)
]
"""The steps of an interrogation. A single text is one step that is always taken."""
