"""Page texts made to take for ever: every reader of wikitext, at a length where only what is linear ends."""

import time
from functools import partial

import pytest

from holocron_assets.classify.rules import classify_page
from holocron_assets.entities.facts.page_facts import page_fact_rows
from holocron_assets.entities.facts.rules import load_rule_book
from holocron_assets.entities.names.visible_text import visible
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.settings import infobox_rules_folder
from holocron_assets.signals.extract import signal_row
from holocron_assets.signals.infobox.values import infobox_values
from holocron_assets.signals.links import link_rows

pytestmark = pytest.mark.full

LENGTH = 250_000
MOST_SECONDS = 20.0
"""A busy machine's; two on an idle one. What grows with the square of the length takes minutes."""

BEFORE = {
    "text": "",
    "lead": "'''Poison''' was a ",
    "infobox": "{{Character\n|homeworld=",
    "date": "{{Character\n|name=x\n|birth=",
    "redirect": "#REDIRECT [[",
    "caption": "[[File:x|",
    "reference": "<ref>",
}
REPEATED = (
    *(
        "{{",
        "{{a|",
        "{{a|b=",
        "[[",
        "[[a|",
        "{|",
        "\n|-\n",
        "<!--",
        "<ref>",
        "<nowiki>",
        "<",
        "<a ",
        "''",
        "'''",
    ),
    *(
        "==",
        "\n==a",
        "\n*",
        "(",
        "()",
        "[http://a ",
        "__A",
        "&",
        "&#",
        "a. ",
        "Mr. ",
        "1,",
        "1,000 ",
        "12 BBY-",
    ),
    *(
        "about ",
        "in the ",
        "-",
        ", ",
        "\u201c",
        "\x00",
        "\u200b",
        "\n",
        "\t",
        "\u00a0",
        "{{!}}",
        "{{{",
        "|a=",
        "%",
    ),
    *(
        "was a human ",
        "of the planet ",
        "also known as ",
        "(c. ",
        "1 and ",
        "{{c|a}} ",
        "[[a]] (b) ",
        "<b>",
        "\r",
    ),
)
RULES = load_rule_book("wiki", infobox_rules_folder())


def page(text: str) -> Row:
    ids = dict.fromkeys(("title_key", "namespace", "page_id", "revision_id"), 1)
    contents = dict.fromkeys(("redirect_target", "payload", "links", "categories"))
    return {"source": "wiki", "batch": "b", "title": "Poison", "wikitext": text, **ids, **contents}


def read_all(text: str) -> None:
    """Everything that the steps of a batch do with a text."""
    signals = signal_row(page(text), DEFAULT_SITE)
    link_rows(page(text), DEFAULT_SITE)
    classify_page(signals)
    visible(text, LENGTH)
    if template := signals["infobox_template"]:
        commas = partial(RULES.parts_at_commas, template)
        page_fact_rows(page(text), template, infobox_values(text, template, DEFAULT_SITE, commas), RULES)


@pytest.mark.fault(6, "a text of one piece of markup, 250,000 characters of it")
@pytest.mark.parametrize("place", BEFORE)
def test_no_piece_of_markup_takes_more_time_than_its_length(place: str) -> None:
    slow = {}
    for piece in REPEATED:
        started = time.process_time()
        read_all(BEFORE[place] + piece * (LENGTH // len(piece)) + "}}\n'''Poison''' was a pilot.")
        if (seconds := time.process_time() - started) > MOST_SECONDS:
            slow[piece] = round(seconds)
    assert slow == {}


@pytest.mark.fault(6, "100 MB of {{ in a page")
def test_a_hundred_megabytes_of_openings_are_read_as_far_as_a_page_may_be_long() -> None:
    started = time.process_time()
    row = signal_row(page("{{" * 50_000_000), DEFAULT_SITE)
    assert time.process_time() - started < MOST_SECONDS
    assert "only the first 2,097,152 of 100,000,000 characters were read" in row["extraction_error"]


@pytest.mark.fault(6, "an infobox of a hundred thousand fields")
def test_an_infobox_of_a_hundred_thousand_fields_is_read_in_bounded_time() -> None:
    started = time.process_time()
    fields = "\n".join(f"|field{number}=[[Dust]] (formerly), 12 BBY" for number in range(100_000))
    read_all(f"{{{{Character\n|name=x\n{fields}\n}}}}\n'''Poison''' was a pilot.")
    assert time.process_time() - started < MOST_SECONDS
