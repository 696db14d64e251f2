"""Templates and conditions of an interrogation: Jinja, in a sandbox that cannot change its values."""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, TypeVar

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment


class _Environment(ImmutableSandboxedEnvironment):
    """Reads a field of an answer before a method that mappings have: `answer.values`, `answer.items`."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


_ENVIRONMENT = _Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
_ENVIRONMENT.filters["quoted"] = partial(json.dumps, ensure_ascii=False, default=str)

# Templates call methods of texts and lists, index them and calculate; some fail only with certain values.
_FAULTS_OF_TEMPLATES = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)

_T = TypeVar("_T")


class TemplateError(ValueError):
    """A template of an interrogation is not valid, or cannot be filled in with some values."""


def rendered(template: str, variables: Mapping[str, Any]) -> str:
    """A template filled in.

    Raises:
        TemplateError: it is not valid, names a variable that is not there, or fails with these values.
    """
    return _checked(lambda: _compiled(template).render(variables).strip(), variables)


def holds(condition: str, variables: Mapping[str, Any]) -> bool:
    """Whether a condition is true, as Jinja's `if` takes it.

    Args:
        condition: an expression, such as `answer.kind == 'person'`.
        variables: what it may name.

    Raises:
        TemplateError: it is not valid, names a variable that is not there, or fails with these values.
    """
    return _checked(lambda: bool(_expression(condition)(**variables)), variables)


def _checked(evaluate: Callable[[], _T], variables: Mapping[str, Any]) -> _T:
    try:
        return evaluate()
    except _FAULTS_OF_TEMPLATES as error:
        known = ", ".join(sorted(variables))
        reason = str(error) or type(error).__name__
        raise TemplateError(f"{reason}; the variables are {known}") from error


@lru_cache(maxsize=256)
def _compiled(template: str) -> jinja2.Template:
    return _ENVIRONMENT.from_string(template)


@lru_cache(maxsize=256)
def _expression(condition: str) -> Callable[..., Any]:
    return _ENVIRONMENT.compile_expression(condition, undefined_to_none=False)
