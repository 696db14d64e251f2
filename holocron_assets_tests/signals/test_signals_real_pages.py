"""Signals of the 64 real pages of ../shared: what a person who read them would say."""

import gzip
import json
import re
from functools import cache
from pathlib import Path

import mwparserfromhell
import pytest

from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.tables import PAGE_LINKS, PAGE_SIGNALS
from holocron_assets.lake.titles import DEFAULT_SITE
from holocron_assets.signals.extract import signal_row
from holocron_assets.signals.links import link_rows

PAGES = Path(__file__).parents[2] / ".." / "shared" / "wookieepedia" / "wikitext_pages.jsonl.gz"
pytestmark = pytest.mark.skipif(not PAGES.exists(), reason="needs ../shared/wookieepedia, which is not here")

INFOBOXES = {
    "Maw Cluster/Legends": "System",
    "Rick McCallum": "Person",
    "Metellos Trade Route/Legends": "Trade route",
    "Gallofree Yards, Inc./Legends": "Company",
    "First Battle of Geonosis/Legends": "Battle",
    "Bail Prestor Organa/Legends": "Character",
    "Varn": "Planet",
    "Star Wars: Battlefront": "Video game",
    "Hundred-Year Darkness/Legends": "War",
    "Imperial Army trooper/Legends": "Organization",
    "Gungan/Legends": "Species",
    "Tipoca City/Legends": "City",
    "Valley of the Jedi": "Structure",
    "Diversity Alliance": "Organization",
    "Lucrehulk-class battleship": "Starship class",
    "Electric Judgment": "Force power",
    "House Palpatine/Legends": "Family",
    "Lightsaber (2018 revision)": "Weapon",
}
MARKUP = re.compile(r"\[\[|\]\]|\{\{|\}\}|''|<ref|<br|&\w+;")
# articles that have none
WITHOUT_INFOBOX = {
    "Star Wars",
    "Nebula/Legends",
    "Smuggler/Legends",
    "Star Wars: The Roleplaying Game",
}
CONTINUITIES = {
    "Star Wars": "real",
    "John Williams": "real",
    "Star Wars: The Roleplaying Game": "real",
    "Varn": "legends",
    "Jorus C'baoth": "legends",
    "House Palpatine/Legends": "legends",
    "New Sith Wars": "legends",
    "Solo (disambiguation)": "unknown",
}
# Links to the page in another language, [[es:humanos]], which the full parse cannot tell from an article
OTHER_LANGUAGES = {"Humans": {"Es:humanos"}}
# links to MediaWiki that mwparserfromhell takes for text, because of quotes around them or a gallery
MISSED_BY_FULL_PARSE = {
    "Leia (disambiguation)": {"Leia Organa Solo/Legends"},
    "Solo (disambiguation)": {
        "Leia Organa Solo/Legends",
        "Solo family/Legends",
        "Allana Djo Solo",
        "Leia's lightsaber/Legends",
    },
    "Imperial Army trooper/Legends": {"130 ABY"},
}
# a soft redirect, the one page that is neither prose nor a redirect
WITHOUT_LEAD = {"Wikipedia"}


@cache
def pages() -> dict[str, Row]:
    with gzip.open(PAGES, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return {
        row["title"]: {
            "source": "real",
            "batch": "real-000001",
            "title": row["title"],
            "title_key": title_key("real", row["title"]),
            "namespace": row["ns"],
            "content_model": "wikitext",
            "wikitext": row["wikitext"],
        }
        for row in rows
    }


@cache
def signals() -> dict[str, Row]:
    return {title: signal_row(page, DEFAULT_SITE) for title, page in pages().items()}


def articles() -> dict[str, Row]:
    return {title: row for title, row in signals().items() if not row["is_redirect"]}


def test_every_page_is_parsed_in_full_and_fits_the_table() -> None:
    PAGE_SIGNALS.to_arrow(list(signals().values()), "real-000001")
    assert {row["method"] for row in signals().values()} == {"mwparserfromhell"}
    assert [row["extraction_error"] for row in signals().values() if row["extraction_error"]] == []


def test_every_article_has_its_infobox() -> None:
    assert {title: signals()[title]["infobox_template"] for title in INFOBOXES} == INFOBOXES
    lacking = {
        title
        for title, row in articles().items()
        if row["infobox_template"] is None and not row["is_disambiguation"]
    }
    assert lacking == WITHOUT_INFOBOX | WITHOUT_LEAD


def test_every_article_has_a_lead_that_names_its_subject() -> None:
    for title, row in articles().items():
        if title in WITHOUT_LEAD:
            continue
        assert row["lead_method"] == "bold_title", title
        assert len(row["lead_sentence"]) >= 19, title
        assert row["lead_sentence"].endswith((".", ":")), title
        words = row["name"].casefold().replace("-", " ").split()
        assert any(word in row["lead_sentence"].casefold() for word in (words[0], words[-1])), title


def test_no_markup_is_left_in_any_clean_text() -> None:
    for title, row in signals().items():
        texts = [row["lead_excerpt"] or "", *(field["value"] for field in row["infobox_fields"])]
        texts += [section["title"] for section in row["sections"]]
        left = [text for text in texts if MARKUP.search(text)]
        assert left == [], title


def test_the_lead_starts_at_its_offset() -> None:
    for title, row in articles().items():
        if row["lead_offset"] is not None:
            start = pages()[title]["wikitext"][row["lead_offset"] :]
            assert start.lstrip("'[").startswith(row["lead_sentence"][:2]) or start.startswith("[["), title


def test_continuity_is_what_the_markers_say() -> None:
    assert {title: signals()[title]["continuity"] for title in CONTINUITIES} == CONTINUITIES
    subpages = [row for title, row in signals().items() if title.endswith("/Legends")]
    assert {row["continuity"] for row in subpages} == {"legends"}


def test_redirects_and_disambiguations_are_recognised() -> None:
    assert signals()["Humans"]["redirect_target"] == "Human"
    assert sum(row["is_redirect"] for row in signals().values()) == 14
    disambiguations = {title for title, row in signals().items() if row["is_disambiguation"]}
    assert disambiguations == {title for title in signals() if title.endswith("(disambiguation)")}


@pytest.mark.system
def test_links_are_all_that_a_full_parse_finds_and_those_that_it_misses() -> None:
    for title, page in pages().items():
        rows = link_rows(page, DEFAULT_SITE)
        PAGE_LINKS.to_arrow(rows, "real-000001")
        ours = {row["target"] for row in rows}
        parsed = _targets_by_full_parse(page["wikitext"]) - {title}
        expected = parsed - OTHER_LANGUAGES.get(title, set()) | MISSED_BY_FULL_PARSE.get(title, set())
        assert ours == expected, title


def _targets_by_full_parse(wikitext: str) -> set[str]:
    targets = set()
    for link in mwparserfromhell.parse(wikitext).filter_wikilinks():
        try:
            targets.add(DEFAULT_SITE.parse_title(str(link.title).strip().removeprefix(":")).title)
        except ValueError:
            continue
    return targets
