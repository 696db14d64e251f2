"""`holocron web` in a real browser, over the sample wiki: what is done there is in the lake."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from review_lake import HOSTILE, PERSON, SOURCE, review_lake, write
from sample_holocron import Holocron

from holocron_assets.decisions.log import all_decisions
from holocron_assets.entities.identity.identity import entity_id
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition
from holocron_assets.lake.tables import ENTITY_JUDGEMENTS
from holocron_assets.review.store import store_review

pytestmark = pytest.mark.browser

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
_PATIENCE_MS = 15_000
UNSURE = "Shoal-chess"
ALIKE = ("Nem Sixfinger", "Issa Dorrane")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The machine's own browser; none is ever downloaded."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None and "CI" in os.environ:
        pytest.fail("CI installs Chromium, and there is none")
    if path is None:
        pytest.skip(f"needs a browser: none of {', '.join(_NAMES)} is on PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def serving(environment: dict[str, str]) -> Iterator[str]:
    """A `holocron web` of its own; gives its address."""
    command = [str(Path(sys.executable).with_name("holocron")), "web", "--port", "0", "--author", "Ada"]
    with subprocess.Popen(  # noqa: S603 - our own command
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        yield process.stdout.readline().split()[2].rstrip("/")
        process.terminate()


@pytest.fixture(scope="module")
def sample(finished_sample: Holocron, tmp_path_factory: pytest.TempPathFactory) -> Holocron:
    """The sample wiki, with a pair that the identity policy is unsure of, whatever it says today."""
    holocron = finished_sample.copy_to(tmp_path_factory.mktemp("reviewed"))
    lake, ids = holocron.lake, sorted(entity_id(SOURCE, title) for title in ALIKE)
    judged = read_partition(lake, ENTITY_JUDGEMENTS, PERSON)
    pair = {"pair_id": "+".join(ids), "first_id": ids[0], "second_id": ids[1], "judgement": "unsure"}
    write(lake, ENTITY_JUDGEMENTS, PERSON, [*judged, pair])
    store_review(lake, SOURCE)
    return holocron


@pytest.fixture(scope="module")
def address(sample: Holocron) -> Iterator[str]:
    with serving(sample.environment) as address:
        yield address


@pytest.fixture
def page(chromium: Browser, address: str) -> Iterator[Page]:
    """A window of the browser; the test fails if a page breaks its policy, or asks somebody else."""
    context = chromium.new_context(base_url=address)
    context.set_default_timeout(_PATIENCE_MS)
    page, problems = context.new_page(), list[str]()
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.on("request", lambda asked: None if asked.url.startswith(address) else problems.append(asked.url))
    yield page
    context.close()
    assert problems == []


def said(sample: Holocron) -> list[Row]:
    return list(all_decisions(sample.lake))


def test_a_page_is_decided_and_undone_with_the_keyboard_alone(page: Page, sample: Holocron) -> None:
    page.goto("/")
    for _ in range(50):
        page.keyboard.press("j")
        if UNSURE in page.locator(":focus").inner_text():
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/item/**")
    assert page.locator("mark").count() > 0, "the evidence is marked in the text"

    page.keyboard.press("e")
    page.keyboard.type("It is sold in shops")
    page.keyboard.press("Enter")  # in a field, it decides nothing
    page.keyboard.press("Escape")
    assert said(sample) == []
    page.keyboard.press("2")
    page.wait_for_url("**done=**")
    (row,) = said(sample)
    assert (row["kind"], row["title"], row["value"]) == ("classify", UNSURE, "WorkMedia")
    assert (row["author"], row["reason"]) == ("Ada", "It is sold in shops")
    assert page.locator("h1").inner_text() != UNSURE, "the next item is shown"

    page.keyboard.press("u")
    page.wait_for_url("**undone=**")
    assert [row["kind"] for row in said(sample)] == ["classify", "undo"]
    assert page.locator("h1").inner_text() == UNSURE
    page.keyboard.press("q")
    page.wait_for_url(lambda url: "/item/" not in url)
    assert page.get_by_text(UNSURE).count() == 1, "it is open again"


def test_another_type_is_chosen_from_the_list(page: Page, sample: Holocron) -> None:
    page.goto(f"/page?title={UNSURE}")
    page.keyboard.press("t")
    page.locator(":focus").select_option("classify.ObjectItem")
    page.get_by_role("button", name="It is of this type").click()
    page.wait_for_url("**done=**")
    assert said(sample)[-1]["value"] == "ObjectItem"
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url("**undone=**")
    assert page.locator("h1").inner_text() == UNSURE


def test_caps_lock_turns_no_merge_round(page: Page, sample: Holocron) -> None:
    page.goto("/?kind=pair")
    page.locator("a.row").first.click()
    page.wait_for_url("**/item/pair-**")
    stays = page.locator('button[data-key="m"]').get_attribute("value")
    page.evaluate("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'M', bubbles: true}))")
    page.wait_for_url("**done=**")
    row = said(sample)[-1]
    assert (row["kind"], f"merge.{row['other_id']}") == ("merge", stays)
    page.keyboard.press("u")  # the next test asks about the pair again
    page.wait_for_url("**undone=**")


def test_two_entities_are_made_one(page: Page, sample: Holocron) -> None:
    page.goto("/?kind=pair")
    page.locator("a.row").first.click()
    page.wait_for_url("**/item/pair-**")
    ids = set(page.url.partition("pair-")[2].partition("?")[0].split("+"))
    assert page.locator("article").count() == 2, "both pages are shown"
    page.keyboard.press("m")
    page.wait_for_url("**done=**")
    row = said(sample)[-1]
    assert (row["kind"], {row["entity_id"], row["other_id"]}) == ("merge", ids)


def test_a_fact_is_accepted_where_it_stands(page: Page, sample: Holocron) -> None:
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type("Nem Sixfinger")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search**")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/entity/**")
    fact = page.locator("details.claim", has_text="infobox").first
    value = fact.locator(".said").inner_text()
    assert not fact.get_by_role("button", name="Accept").is_visible(), "nothing is open about it"
    fact.locator("summary").click()
    fact.get_by_role("button", name="Accept").click()
    page.wait_for_url("**done=**")
    row = said(sample)[-1]
    assert row["kind"] == "accept"
    assert value in row["value"]
    assert page.locator(".badge.accepted").count() == 1
    accepted = page.locator("details.claim", has_text="accepted")
    accepted.locator("summary").click()
    accepted.locator(".statements a").first.click()
    page.wait_for_url("**/text/**")
    assert page.locator("mark").count() == 1, "its words are marked in the page's text"


def test_relations_are_walked_from_picture_to_picture_without_scripts(
    chromium: Browser, address: str
) -> None:
    context = chromium.new_context(base_url=address, java_script_enabled=False)
    page = context.new_page()
    page.goto("/page?title=Caldus Varrow")
    for name in ("Varrow Dominion", "Lamp War"):
        page.locator("svg a", has_text=name).click()
        page.wait_for_url("**/entity/**")
        assert page.locator("h1").inner_text() == name
    context.close()


def test_everything_works_without_scripts(chromium: Browser, address: str, sample: Holocron) -> None:
    context = chromium.new_context(base_url=address, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"/page?title={UNSURE}")
    page.get_by_label("You").fill("Bo")
    page.get_by_role("button", name="Concept").click()
    page.wait_for_url("**done=**")
    assert (said(sample)[-1]["author"], said(sample)[-1]["value"]) == ("Bo", "Concept")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url("**undone=**")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_no_page_is_wider_than_the_window(
    chromium: Browser, address: str, scheme: Literal["light", "dark"], width: int
) -> None:
    size: ViewportSize = {"width": width, "height": 800}
    context = chromium.new_context(base_url=address, viewport=size, color_scheme=scheme)
    page = context.new_page()
    for path in ("/", f"/page?title={UNSURE}", "/page?title=Nem Sixfinger", "/search?q=nem", "/nowhere"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    context.close()


def test_nothing_that_a_wiki_says_is_run(chromium: Browser, tmp_path: Path) -> None:
    lake, problems = review_lake(tmp_path), list[str]()
    with serving({"HOLOCRON_DATA": str(lake.root)}) as address:
        context = chromium.new_context(base_url=address)
        page = context.new_page()
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        page.on("console", lambda message: problems.append(message.text))
        for path in ("/", f"/item/page-{title_key(SOURCE, HOSTILE)}"):
            page.goto(path)
            assert page.get_by_text("<script>alert(1)</script>").count() > 0
        context.close()
    assert problems == []
