"""The identity policy: data that says how alike records of one thing are, and when to ask."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictStr, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

DEFAULT_IDENTITY_FILE = Path(__file__).with_name("identity.yaml")

Verdict = Literal["same", "unsure"]
_Share = Annotated[float, Field(strict=True, ge=0, le=1)]


class IdentityPolicyError(ValueError):
    """The policy file cannot be used; the message names the file and the key."""


class Likeness(BaseModel):
    """Likeness of names, between 0 and 1, from which each verdict holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    same: _Share
    unsure: _Share

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.same < self.unsure:
            raise ValueError(f"same ({self.same}) is below unsure ({self.unsure})")
        return self


class IdentityPolicy(BaseModel):
    """Thresholds by type, under an id that every judgement made by them names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    default: Likeness
    types: dict[str, Likeness]

    @property
    def author(self) -> str:
        """Who judges by this policy, as `judged_by` holds it."""
        return f"policy:{self.id}"

    def limits(self, entity_type: str) -> Likeness:
        """The thresholds of a type."""
        return self.types.get(entity_type, self.default)


def load_identity_policy(path: Path, entity_types: AbstractSet[str]) -> IdentityPolicy:
    """Read and validate a policy file.

    Args:
        path: a YAML file with the keys `id`, `default` and `types`, as in `identity.yaml`.
        entity_types: the taxonomy's entity-worthy types; only these may have thresholds of their own.

    Returns:
        The policy.

    Raises:
        IdentityPolicyError: the file is missing or not YAML, or a key is missing, unknown or out of range.
    """
    content = _read_mapping(path)
    try:
        policy = IdentityPolicy.model_validate(_with_defaults(content))
    except ValidationError as error:
        raise IdentityPolicyError(f"{path}: {'; '.join(map(_problem, error.errors()))}") from error
    if unknown := sorted(policy.types.keys() - entity_types):
        raise IdentityPolicyError(
            f"{path}: types.{unknown[0]}: no entity-worthy type; use one of {sorted(entity_types)}"
        )
    return policy


def _read_mapping(path: Path) -> Mapping[str, Any]:
    try:
        content = YAML(typ="safe").load(path)
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise IdentityPolicyError(f"{path}: not a readable YAML file: {error}") from error
    if not isinstance(content, Mapping):
        raise IdentityPolicyError(f"{path}: must be a mapping with the keys id, default and types")
    return content


def _with_defaults(content: Mapping[str, Any]) -> dict[str, Any]:
    """The file's content, each type's thresholds completed from `default`."""
    default, types = content.get("default"), content.get("types")
    if not isinstance(default, Mapping) or not isinstance(types, Mapping):
        return dict(content)
    completed = {
        name: {**default, **limits} if isinstance(limits, Mapping) else limits
        for name, limits in types.items()
    }
    return {**content, "types": completed}


def _problem(error: Mapping[str, Any]) -> str:
    key = ".".join(map(str, error["loc"])) or "(top level)"
    return f"{key}: {error['msg']}"
