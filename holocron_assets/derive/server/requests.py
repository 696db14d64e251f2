"""The requests of Ollama's API that the model server takes, checked."""

import json
from typing import Annotated, Any, TypeVar

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import (
    AfterValidator,
    AllowInfNan,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from holocron_assets.derive.server.durations import keep_alive_seconds
from holocron_assets.errors import details_of


class BadRequestError(Exception):
    """A request that cannot be read; the text names the field."""


def _keep_alive(value: object) -> float | None:
    return None if value is None else keep_alive_seconds(value)


def _format(value: object) -> dict[str, Any] | None:
    """A schema for llama.cpp, which ignores one that it cannot read instead of refusing it."""
    if value in (None, ""):
        return None
    if value == "json":
        return {"type": "object"}
    if not isinstance(value, dict):
        raise ValueError('invalid format: expected "json" or a JSON schema')  # noqa: TRY004 - pydantic's way
    try:
        Draft202012Validator.check_schema(value)
    except SchemaError as error:
        raise ValueError(f"invalid format: {error.message}") from error
    return value


KeepAlive = Annotated[Annotated[float, AllowInfNan(allow_inf_nan=True)] | None, BeforeValidator(_keep_alive)]
"""Seconds; for ever is infinite."""
Format = Annotated[dict[str, Any] | None, BeforeValidator(_format)]
Lower = Annotated[str, AfterValidator(str.lower)]
Whole = Annotated[int, Field(ge=-(2**31), lt=2**31)]
"""A whole number that fits into llama.cpp's 32 bits; of a larger one it would use the lowest bits."""


class _Asked(BaseModel):
    # As in Ollama, unknown fields are ignored. But a text is no number.
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, allow_inf_nan=False)


Kind = TypeVar("Kind", bound=_Asked)


class Options(_Asked):
    """How to generate; the defaults are Ollama's. `num_ctx` is in tokens, and None is whatever is loaded."""

    num_ctx: int | None = Field(default=None, gt=0)
    num_predict: Whole = -1
    num_keep: Whole = 4
    seed: Whole = -1
    temperature: float = 0.8
    top_k: Whole = 40
    top_p: float = 0.9
    min_p: float = 0.0
    typical_p: float = 1.0
    repeat_last_n: Whole = 64
    repeat_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    stop: list[str] = []


def _given(value: object) -> object:
    """Options without those that are null, which mean the default."""
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if item is not None}


def _named(**wanted: object) -> tuple[str, ...]:
    return tuple(name for name, value in wanted.items() if value)


class Named(_Asked):
    """A request about a model. Older clients call it `name`."""

    model: str = ""
    name: str = ""

    @property
    def wanted(self) -> str:
        """The model's name.

        Raises:
            BadRequestError: there is none.
        """
        if not (self.model or self.name):
            raise BadRequestError("model is required")
        return self.model or self.name


class PullRequest(Named):
    """Fetch a model."""

    stream: bool | None = True


class Using(Named):
    """A request that a model must be loaded for."""

    keep_alive: KeepAlive = None
    options: Annotated[Options | None, BeforeValidator(_given)] = None
    truncate: bool | None = True

    @property
    def may_cut(self) -> bool:
        """Whether an input that does not fit is cut; else it is refused."""
        return self.truncate is not False

    @property
    def how(self) -> Options:
        """The options, or the usual."""
        return self.options or Options()


class Generating(Using):
    """What generate and chat have in common."""

    stream: bool | None = True
    format: Format = None
    logprobs: bool | None = False
    top_logprobs: int | None = Field(default=0, ge=0, le=20)
    think: bool | str | None = None

    @property
    def unsupported(self) -> tuple[str, ...]:
        """Requested features that none of our models has."""
        return ("thinking",) if self.think else ()


class Message(_Asked):
    """One message of a chat."""

    role: Lower
    content: str | None = ""
    images: list[Any] | None = None

    @property
    def plain(self) -> dict[str, str]:
        """As the chat template reads it."""
        return {"role": self.role, "content": self.content or ""}


class ChatRequest(Generating):
    """Answer a chat; no messages only load the model."""

    messages: list[Message] | None = None
    tools: list[Any] | None = None

    @property
    def unsupported(self) -> tuple[str, ...]:
        """Requested features that none of our models has."""
        images = any(message.images for message in self.messages or ())
        return (*super().unsupported, *_named(tools=self.tools, images=images))


class GenerateRequest(Generating):
    """Answer a prompt; no prompt only loads the model."""

    prompt: str | None = ""
    system: str | None = ""
    raw: bool | None = False
    context: list[int] | None = None
    images: list[Any] | None = None
    suffix: str | None = ""
    template: str | None = ""

    @property
    def unsupported(self) -> tuple[str, ...]:
        """Requested features that none of our models has."""
        others = _named(images=self.images, insert=self.suffix, templates=self.template)
        return (*super().unsupported, *others)


class EmbedRequest(Using):
    """Embed one text or several."""

    input: str | list[str] = []
    dimensions: int | None = Field(default=None, gt=0)


class EmbeddingsRequest(Using):
    """Embed one text, as older clients ask it."""

    prompt: str | None = ""


def read_request(kind: type[Kind], body: bytes) -> Kind:
    """A request's body.

    Raises:
        BadRequestError: it is no JSON, or a field has a value of another kind.
    """
    if not body.strip():
        raise BadRequestError("missing request body")
    try:
        return kind.model_validate(json.loads(body))
    except (RecursionError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BadRequestError(f"invalid JSON: {error}") from error
    except ValidationError as error:
        raise BadRequestError("; ".join(_problem(found) for found in details_of(error))) from error


def _problem(found: Any) -> str:
    where = ".".join(str(part) for part in found["loc"])
    if found["type"] == "value_error":
        return str(found["ctx"]["error"])
    return f'"{where}": {found["msg"]}' if where else str(found["msg"])
