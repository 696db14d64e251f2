"""Why a page has its type: what one answer about its template or category would settle."""

from pathlib import Path

from crawl_rows import wiki_source
from proposals_lake import PLACE, SOURCE, proposals_lake

from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.place.paths import Lake
from holocron_assets.operations.why.answers import Answer
from holocron_assets.operations.why.fetching import Page
from holocron_assets.operations.why.judging import why_typed
from holocron_assets.operations.why.page_report import page_report


def typed(lake: Lake, title: str) -> Answer:
    source = wiki_source(SOURCE)
    report = page_report(lake, [source], SOURCE, title)
    [answer] = why_typed(Page(source, title, title_key(SOURCE, title), report))
    return answer


def test_an_open_page_offers_the_decision_about_its_template(tmp_path: Path) -> None:
    found = typed(proposals_lake(tmp_path), "Glorb 1")
    assert "one answer about Template:Glorb settles 6 open articles, which may be LocationPlace" in (
        found.because
    )
    assert found.commands == (
        "holocron decide classify 'Glorb 1' --source sample --type TYPE --reason WHY",
        f"holocron decide template 'Glorb' {PLACE} --source sample --reason WHY",
        "holocron decide category 'Lights' Concept --source sample --reason WHY",
    )


def test_a_template_without_a_proposal_is_offered_with_the_type_left_open(tmp_path: Path) -> None:
    found = typed(proposals_lake(tmp_path), "Blob 1")
    assert found.commands[1:] == ("holocron decide template 'Blob' TYPE --source sample --reason WHY",)
    assert "one answer about Template:Blob settles 5 open articles" in found.because


def test_a_settled_page_offers_no_decision_about_what_it_shares(tmp_path: Path) -> None:
    [command] = typed(proposals_lake(tmp_path), "Place 1").commands
    assert command.startswith("holocron decide classify ")
