"""The sample wiki is a sound export, and the expected answers cover every page of it."""

import hashlib
import re
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from holocron_assets.lake.files.people_yaml import load_yaml

EXPORT = Path(__file__).parents[2] / "data" / "sample" / "wiki.xml"
EXPECTED = Path(__file__).with_name("expected_pages.yaml")
XMLNS = {"m": "http://www.mediawiki.org/xml/export-0.11/"}

TYPES = {
    "PersonCharacter",
    "Droid",
    "Species",
    "LocationPlace",
    "VehicleCraft",
    "ObjectItem",
    "ObjectArtifact",
    "Organization",
    "EventConflict",
    "WorkMedia",
    "TimePeriod",
    "Concept",
    "ReferenceMeta",
    "TechnicalSitePage",
    "Unknown",
}
KINDS = {
    "article",
    "redirect",
    "disambiguation",
    "list",
    "timeline",
    "year",
    "subpage",
    "technical",
    "stub",
}
MEDIA = {"film", "tv", "game", "book", "comic", "reference", "episode", "short", "other", "unknown"}
CONTINUITIES = {"canon", "legends", "real", "both", "unknown"}

LINK = re.compile(r"\[\[([^\[\]|#<>\n]+)")
NOT_PARSED = re.compile(r"<!--.*?-->|<(nowiki|pre)>.*?</\1>", re.DOTALL)
BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


class ExportedPage(NamedTuple):
    title: str
    namespace: int
    page_id: int
    revision_id: int
    redirect_target: str | None
    text: str
    stated_bytes: int
    stated_sha1s: tuple[str, str]


@cache
def export() -> Any:
    return etree.parse(EXPORT).getroot()


@cache
def pages() -> tuple[ExportedPage, ...]:
    return tuple(exported_page(element) for element in export().iterfind("m:page", XMLNS))


def exported_page(element: Any) -> ExportedPage:
    text = element.find("m:revision/m:text", XMLNS)
    redirect = element.find("m:redirect", XMLNS)
    return ExportedPage(
        title=element.findtext("m:title", namespaces=XMLNS),
        namespace=int(element.findtext("m:ns", namespaces=XMLNS)),
        page_id=int(element.findtext("m:id", namespaces=XMLNS)),
        revision_id=int(element.findtext("m:revision/m:id", namespaces=XMLNS)),
        redirect_target=None if redirect is None else redirect.get("title"),
        text=text.text,
        stated_bytes=int(text.get("bytes")),
        stated_sha1s=(text.get("sha1"), element.findtext("m:revision/m:sha1", namespaces=XMLNS)),
    )


@cache
def expected() -> dict[str, Any]:
    answers: dict[str, Any] = load_yaml(EXPECTED.read_text(encoding="utf-8"))
    return answers


@cache
def answers_by_title() -> dict[str, dict[str, Any]]:
    return {answer["title"]: answer for answer in expected()["pages"]}


def sha1_in_base36(text: str) -> str:
    """MediaWiki writes SHA-1 with 31 digits of base 36 in its exports."""
    number = int(hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), 16)
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = BASE36[digit] + digits
    return digits.rjust(31, "0")


def linked_titles(text: str) -> set[str]:
    targets = (target.strip().replace("_", " ") for target in LINK.findall(NOT_PARSED.sub("", text)))
    return {target[:1].upper() + target[1:] for target in targets}


def test_the_export_says_which_wiki_it_is_of() -> None:
    site = export().find("m:siteinfo", XMLNS)
    fields = {etree.QName(field).localname: field.text for field in site}
    assert export().get("version") == "0.11"
    assert fields["sitename"] == "Driftpedia"
    assert fields["case"] == "first-letter"
    assert fields["generator"].startswith("MediaWiki ")
    assert fields["base"].endswith("/wiki/Main_Page")


def test_every_title_stands_once_and_is_composed() -> None:
    titles = [page.title for page in pages()]
    assert len(titles) >= 150
    assert [title for title, count in Counter(titles).items() if count > 1] == []
    assert [title for title in titles if unicodedata.normalize("NFC", title) != title] == []


def test_page_and_revision_ids_stand_once() -> None:
    assert len({page.page_id for page in pages()}) == len(pages())
    assert len({page.revision_id for page in pages()}) == len(pages())


def test_a_title_starts_with_the_name_of_its_namespace() -> None:
    elements = export().iterfind("m:siteinfo/m:namespaces/m:namespace", XMLNS)
    numbers = {element.text: int(element.get("key")) for element in elements if element.text}
    prefixes = {page.title: numbers.get(page.title.partition(":")[0], 0) for page in pages()}
    assert prefixes == {page.title: page.namespace for page in pages()}


def test_stated_hashes_and_sizes_are_those_of_the_text() -> None:
    wrong = [
        page.title
        for page in pages()
        if page.stated_sha1s != (sha1_in_base36(page.text),) * 2
        or page.stated_bytes != len(page.text.encode())
    ]
    assert wrong == []


def test_articles_are_short_but_say_something() -> None:
    articles = [page for page in pages() if answers_by_title()[page.title]["kind"] == "article"]
    assert [page.title for page in articles if not 300 <= len(page.text) <= 2500] == []


def test_every_page_has_one_expected_answer() -> None:
    assert len(answers_by_title()) == len(expected()["pages"])
    assert set(answers_by_title()) == {page.title for page in pages()}


def test_every_type_kind_continuity_and_medium_occurs() -> None:
    answers = answers_by_title().values()
    assert {answer["primary_type"] for answer in answers} == TYPES
    assert {answer["kind"] for answer in answers} == KINDS
    assert {answer["continuity"] for answer in answers} == CONTINUITIES
    assert {answer["work_medium"] for answer in answers if "work_medium" in answer} == MEDIA


def test_other_fair_types_are_types_and_differ_from_the_first() -> None:
    for answer in answers_by_title().values():
        assert set(answer.get("also_fair", [])) <= TYPES - {answer["primary_type"]}, answer["title"]


def test_only_works_have_a_medium_and_a_canon_context() -> None:
    for answer in answers_by_title().values():
        is_work = answer["primary_type"] == "WorkMedia"
        assert ("work_medium" in answer, "canon_context" in answer) == (is_work, is_work), answer["title"]


def test_redirects_lead_where_the_export_says() -> None:
    for page in pages():
        answer = answers_by_title()[page.title]
        assert answer.get("redirect_target") == page.redirect_target, page.title
        assert (answer["kind"] == "redirect") == page.text.lower().startswith("#redirect"), page.title


def test_there_is_a_double_redirect_one_to_a_section_and_one_to_nowhere() -> None:
    titles = {page.title for page in pages()}
    targets = {page.title: page.redirect_target for page in pages() if page.redirect_target}
    assert [title for title, target in targets.items() if target in targets] == ["Second Cassivane campaign"]
    assert [title for title, target in targets.items() if target not in titles] == ["Lamp flower"]
    assert answers_by_title()["Tidewarden"]["redirect_section"] == "Ranks"


def test_technical_pages_are_those_outside_the_articles_and_the_main_page() -> None:
    technical = {page.title for page in pages() if page.namespace != 0} | {"Main Page"}
    assert {
        title for title, answer in answers_by_title().items() if answer["kind"] == "technical"
    } == technical


def test_several_pages_come_in_a_canon_and_a_legends_version() -> None:
    titles = {page.title for page in pages()}
    pairs = {title for title in titles if f"{title}/Legends" in titles or f"{title} (Legends)" in titles}
    assert len(pairs) >= 6
    assert {answers_by_title()[title]["continuity"] for title in pairs} == {"canon"}


def test_the_world_is_dense_and_has_red_links() -> None:
    titles = {page.title for page in pages()}
    articles = {title for title, answer in answers_by_title().items() if answer["kind"] == "article"}
    linked = set().union(*(linked_titles(page.text) for page in pages()))
    red = {title for title in linked - titles if ":" not in title}
    assert len(articles & linked) > 0.9 * len(articles)
    assert len(red) >= 50


def test_titles_in_comments_and_nowiki_are_linked_from_nowhere_else() -> None:
    everything = "\n".join(page.text for page in pages())
    titles = {page.title for page in pages()}
    for trap in expected()["not_links"]:
        assert everything.count(f"[[{trap}") == 1, trap
        assert trap not in titles
