"""Spaces as files: each makes vectors of passages by one model, as an interrogation of kind 'embedding'."""

from typing import Annotated, Any

from pydantic import Field, StrictInt, StrictStr

from holocron_assets.derive.interrogations.settings import Embedding, Options, Standing, Text, Wants
from holocron_assets.lake.tables.retrieval import SPACE_PREFIX

_MOST_PASSAGES = 100_000
_BASE64_OF_THREE = 4


class Space(Standing):
    """A space's file.

    Attributes:
        key: its name.
        version: a number that its author raises when its meaning changes.
        title: what its vectors say, in a line.
        model: the model that is asked, as the server calls it.
        alternatives: models that give the same vectors, for servers that lack the first.
        priority: from 0 to 1,000; a higher number goes first.
        enabled: whether anything new is asked. Answers stay, whichever it is.
        scale_limit: the most items that are asked about in a time; without it, there is no limit.
        domain: a word for people, to find what belongs together.
        wants: which pages' passages are embedded; all by default.
        embedding: what is embedded, and how.
        num_ctx: tokens that the model reads at once; what is longer is cut by the server.
        timeout_seconds: the most time for the passages of one page.
    """

    key: Annotated[StrictStr, Field(pattern=r"^[a-z][a-z0-9_]{0,20}$")]
    version: Annotated[StrictInt, Field(ge=1)]
    title: Text
    model: Text
    alternatives: tuple[Text, ...] = ()
    priority: Annotated[StrictInt, Field(ge=0, le=1000)]
    wants: Wants = Wants()
    embedding: Embedding
    num_ctx: Annotated[StrictInt, Field(ge=512, le=1 << 15)] = 512
    timeout_seconds: Annotated[float, Field(gt=0, le=3600)]

    def declared(self) -> dict[str, Any]:
        """The keys of the interrogation that it is."""
        own = (
            *("version", "title", "model", "alternatives", "priority", "wants", "embedding"),
            *Standing.model_fields,
        )
        return {
            **{name: getattr(self, name) for name in own},
            "key": f"{SPACE_PREFIX}{self.key}",
            "kind": "embedding",
            "options": Options(num_ctx=self.num_ctx, num_predict=8),
            "timeout_seconds": self.timeout_seconds,
            "answer_schema": _answer_schema(self.embedding.dimensions),
            "rows": {"each": "passages"},
        }


def _answer_schema(dimensions: int) -> dict[str, Any]:
    """The schema of what a model answers about one page."""
    characters = -(-dimensions // 3) * _BASE64_OF_THREE
    vector = {
        "type": "string",
        "minLength": characters,
        "maxLength": characters,
        "description": "Its direction: a signed byte a number, the largest 127, in base64",
    }
    passage_id = {"type": "string", "maxLength": 32, "description": "The passage, as in table `page_chunks`"}
    passages = {
        "type": "array",
        "maxItems": _MOST_PASSAGES,
        "description": "The passages of the page",
        "items": {
            "type": "object",
            "properties": {"passage_id": passage_id, "vector": vector},
            "required": ["passage_id", "vector"],
        },
    }
    return {"type": "object", "properties": {"passages": passages}, "required": ["passages"]}
