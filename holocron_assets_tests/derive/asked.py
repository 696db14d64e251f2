"""Items to ask a fake model about, and an interrogation that wants little."""

from typing import Any

from fake_ollama import LARGE, SMALL, FakeOllama

from holocron_assets.derive.engine.calls import Outcome
from holocron_assets.derive.engine.engine import Engine, open_client
from holocron_assets.derive.evidence.bundles import Bundle, EvidenceItem
from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.derive.items.items import Item
from holocron_assets.lake.declaration.keys import title_key

BATCH = "wiki-000001"
GOOD = {"kind": "person", "words": ["a", "b"]}
DIGEST = "5" * 64

_SCHEMA = {
    "type": "object",
    "required": ["kind"],
    "properties": {
        "kind": {"type": "string", "enum": ["person", "place"], "description": "What it is"},
        "words": {
            "type": "array",
            "maxItems": 3,
            "items": {"type": "string", "maxLength": 10},
            "description": "Words for it",
        },
        "quote": {"type": "string", "maxLength": 40, "description": "Where the page says so"},
    },
}


def interrogation(**changes: Any) -> Interrogation:
    """What kind of thing a page is about."""
    settings: dict[str, Any] = {
        "key": "kinds",
        "version": 1,
        "title": "What a page is about",
        "model": SMALL,
        "alternatives": [LARGE],
        "priority": 500,
        "evidence": [{"source": "page", "label": "Page", "part": "text"}],
        "prompt": "Say what the page is about.",
        "question": "What is {{ title }}?",
        "answer_schema": _SCHEMA,
        "options": {"num_ctx": 4096, "num_predict": 100, "seed": 7},
        "timeout_seconds": 20,
        "rows": {"quotes": ["quote"]},
    }
    return Interrogation.model_validate({**settings, **changes})


def item(title: str = "Varn", text: str = "Varn was a pilot.", **changes: Any) -> Item:
    """A page to be asked about."""
    known: dict[str, Any] = {
        "interrogation": interrogation(),
        "partition": BATCH,
        "item_id": str(title_key("wiki", title)),
        "source": "wiki",
        "subject": title,
        "row": {
            "source": "wiki",
            "batch": BATCH,
            "title": title,
            "title_key": title_key("wiki", title),
            "revision_id": 1,
            "chunk": None,
        },
        "bundle": _bundle(text),
        "system": "Say what the page is about.",
        "variables": {"title": title},
        "question": f"What is {title}?",
        "gather": lambda size: _bundle(text[: max(size - 100, 0)]),
    }
    return Item(**{**known, **changes})


def _bundle(text: str) -> Bundle:
    return Bundle((EvidenceItem(1, "page", "Page", text),) if text else (), ())


async def ask(fake: FakeOllama | str, asked: Item, *, attempt: int = 1, **options: Any) -> Outcome:
    """Ask about an item once, with an engine of its own."""
    async with open_client(fake if isinstance(fake, str) else fake.url) as client:
        engine = Engine(client, run_id="run-1")
        return await engine.answer(asked, model=SMALL, digest=DIGEST, attempt=attempt, **options)


def outcomes(outcome: Outcome) -> list[str]:
    """What became of each call."""
    return [call["outcome"] for call in outcome.calls]
