"""How often the rules type a page as a careful reader would, with its infobox and without.

Run: python benchmarks/type_accuracy.py [--errors 40]

Needs ../shared/wookieepedia. A page's infobox template is its true type (benchmarks/type_scoring.yaml).
Titles are split in two halves by hash: rules may be changed after reading errors of the tune half only,
so that the held-out half says how they do on pages that nobody read.
"""

import argparse
import gzip
import importlib.util
import json
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import xxhash

from holocron_assets.classify.rules import classify_page, load_rules
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.lake.titles import Site
from holocron_assets.signals.extract import signal_row

SHARED = Path(__file__).parents[2] / "shared"
SCORING_FILE = Path(__file__).with_name("type_scoring.yaml")
HALVES = ("tune", "held out")
SOURCE = "wookieepedia"

# What rendered text holds before the lead: the infobox's text up to its source link, and quotes.
INFOBOX_TEXT = re.compile(r"^.*?\[Source\]", re.DOTALL)
QUOTE = re.compile(r'\A\s*".*?"\s*\n\s*―[^\n]*\n', re.DOTALL)

SITE = Site.from_row(
    {
        "title_case": "first-letter",
        "namespaces": [
            {"id": number, "name": name, "canonical": name, "aliases": []}
            for number, name in ((0, ""), (6, "File"), (10, "Template"), (14, "Category"))
        ],
        "interwiki_prefixes": ["wikipedia"],
    }
)


class Case(NamedTuple):
    """A page with its true infobox template."""

    title: str
    template: str
    wikitext: str
    infobox_hidden: bool


class Scored(NamedTuple):
    """A case with the rules' answer."""

    case: Case
    answer: Row
    right: bool

    @property
    def settled(self) -> bool:
        return bool(self.answer["confidence"] >= load_rules().weighing.settled)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--errors", type=int, default=0, metavar="N", help="show N wrong pages of the tune half"
    )
    errors = parser.parse_args().errors
    if not (SHARED / "wookieepedia").is_dir():
        sys.exit(f"{SHARED / 'wookieepedia'} is missing; this measurement needs it")
    scoring: dict[str, Any] = load_yaml(SCORING_FILE.read_text(encoding="utf-8"))
    bench = Bench(scoring)
    for name, cases in (("With infobox", with_infobox()), ("Infobox removed", without_infobox())):
        scored = [bench.score(case) for case in cases]
        report(name, scored, scoring)
        show_errors(scored, errors)
    print(
        f"\n{bench.pages} pages; classify_page alone took {1000 * bench.seconds / bench.pages:.3f} ms a page"
    )


class Bench:
    """Scores cases and keeps the time that the rules took."""

    def __init__(self, scoring: dict[str, Any]) -> None:
        self._scoring = scoring
        self.pages = 0
        self.seconds = 0.0

    def score(self, case: Case) -> Scored:
        signals = signal_row(page_row(case), SITE)
        if case.infobox_hidden and signals["infobox_template"] == case.template:
            sys.exit(
                f"page {case.title!r} still shows its infobox {case.template!r}: the measurement is void"
            )
        start = time.perf_counter()
        answer = classify_page(signals)
        self.seconds += time.perf_counter() - start
        self.pages += 1
        return Scored(case, answer, answer["primary_type"] in self._scoring[case.template]["types"])


def page_row(case: Case) -> Row:
    """What signals are read from: those columns of table pages, as a crawl would have stored them."""
    return {
        "source": SOURCE,
        "batch": "benchmark",
        "title": case.title,
        "title_key": title_key(SOURCE, case.title),
        "namespace": 0,
        "page_id": 1,
        "revision_id": 1,
        "content_model": "wikitext",
        "wikitext": case.wikitext,
        "categories": None,
        "links": None,
        "redirect_target": None,
    }


def rows(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(SHARED / "wookieepedia" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def rebuilt(row: dict[str, Any]) -> str:
    """Wikitext of a row, as the export script next to the data makes it."""
    if "make_xml" not in sys.modules:
        spec = importlib.util.spec_from_file_location("make_xml", SHARED / "realwiki" / "make_xml.py")
        assert spec is not None  # noqa: S101 - for the type checker: the path ends in .py
        assert spec.loader is not None  # noqa: S101 - the same
        sys.modules["make_xml"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["make_xml"])
    text: str = row.get("wikitext") or sys.modules["make_xml"].rebuilt(row)
    return text


def with_infobox() -> Iterator[Case]:
    """Every page whose infobox is known, once."""
    seen: set[str] = set()
    for name in ("sample_pages", "infobox_pages"):
        for row in rows(name):
            if row["title"] not in seen:
                seen.add(row["title"])
                yield Case(row["title"], row["infobox_template"], rebuilt(row), infobox_hidden=False)


def without_infobox() -> Iterator[Case]:
    """Every page with a lead or categories, once; its infobox, and all text that came from it, removed."""
    templates = {row["title"]: row["infobox_template"] for row in rows("infobox_pages")}
    seen: set[str] = set()
    for name in ("wikitext_pages", "sample_pages", "lead_pages", "category_pages"):
        for row in rows(name):
            template = row.get("infobox_template") or templates.get(row["title"])
            if template is None or row["title"] in seen:
                continue
            text = prose(row, template)
            if text:
                seen.add(row["title"])
                yield Case(row["title"], template, text, infobox_hidden=True)


def prose(row: dict[str, Any], template: str) -> str:
    """A page's wikitext without its infobox; empty when neither lead nor categories are known."""
    if row.get("wikitext"):
        return without_template(row["wikitext"], template)
    introduction = (row.get("sections") or {}).get("Introduction", "")
    lead = row.get("lead") or rendered_lead(row.get("text") or introduction)
    if not lead and not row.get("categories"):
        return ""
    text = rebuilt({**row, "lead": lead, "text": "", "infobox": [], "infobox_template": ""})
    # Before a lead that does not hold the title, the script puts it in bold; no editor writes that.
    return re.sub(r"^'''[^\n]+?''' (?=" + re.escape(lead.strip()[:200]) + ")", "", text, flags=re.MULTILINE)


def rendered_lead(text: str) -> str:
    """The lead in a page's rendered text: after the infobox and the opening quote, up to a heading."""
    return QUOTE.sub("", INFOBOX_TEXT.sub("", text)).strip().split("\n\n")[0]


def without_template(wikitext: str, template: str) -> str:
    """Wikitext with the block of one template cut out."""
    pattern = re.escape(template).replace(r"\ ", "[ _]")
    start = re.search(r"\{\{\s*" + pattern + r"\s*[|}\n]", wikitext, re.IGNORECASE)
    if start is None:
        return wikitext
    depth = 0
    for brace in re.compile(r"\{\{|\}\}").finditer(wikitext, start.start()):
        depth += 1 if brace[0] == "{{" else -1
        if depth == 0:
            return wikitext[: start.start()] + wikitext[brace.end() :]
    return wikitext[: start.start()]


def half(scored: Scored) -> str:
    return HALVES[xxhash.xxh64_intdigest(scored.case.title.encode()) % 2]


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:6.2f}%" if whole else "      -"


def report(name: str, scored: list[Scored], scoring: dict[str, Any]) -> None:
    print(f"\n== {name}")
    print(f"{'':18}{'pages':>7}{'right':>9}{'settled':>9}{'right of settled':>18}{'mean of templates':>19}")
    halves = defaultdict(list)
    for one in scored:
        halves[half(one)].append(one)
    summary("all", scored)
    for part in HALVES:
        summary(part, halves[part])
    summary("not Character", [one for one in scored if one.case.template != "Character"])
    summary("its held-out half", [one for one in halves[HALVES[1]] if one.case.template != "Character"])
    media(scored, scoring)
    by_template(scored)
    confusion(scored, scoring)


def summary(name: str, scored: list[Scored]) -> None:
    settled = [one for one in scored if one.settled]
    right, right_settled = sum(one.right for one in scored), sum(one.right for one in settled)
    templates = defaultdict(list)
    for one in scored:
        templates[one.case.template].append(one.right)
    mean = sum(sum(answers) / len(answers) for answers in templates.values()) / len(templates)
    print(
        f"{name:18}{len(scored):7}{percent(right, len(scored)):>9}{percent(len(settled), len(scored)):>9}"
        f"{percent(right_settled, len(settled)):>18}{100 * mean:18.2f}%"
    )


def media(scored: list[Scored], scoring: dict[str, Any]) -> None:
    works = [one for one in scored if one.answer["work_medium"] and "media" in scoring[one.case.template]]
    right = sum(one.answer["work_medium"] in scoring[one.case.template]["media"] for one in works)
    print(f"medium of {len(works)} works right: {percent(right, len(works))}")


def by_template(scored: list[Scored]) -> None:
    templates = defaultdict(list)
    for one in scored:
        templates[one.case.template].append(one)
    perfect = [name for name, cases in templates.items() if all(one.right and one.settled for one in cases)]
    print(f"{len(templates)} templates; {len(perfect)} with every page right and settled. The others:")
    for name, cases in sorted(templates.items(), key=lambda entry: -len(entry[1])):
        if name not in perfect:
            right, settled = sum(one.right for one in cases), sum(one.settled for one in cases)
            print(
                f"  {name:22}{len(cases):6}{percent(right, len(cases))}{percent(settled, len(cases))} settled"
            )


def confusion(scored: list[Scored], scoring: dict[str, Any]) -> None:
    """Rows: the type a reader gives, or that of the answer where it is right. Columns: the rules' answer."""
    counts = Counter(
        (answer if one.right else scoring[one.case.template]["types"][0], answer)
        for one in scored
        for answer in [one.answer["primary_type"]]
    )
    types = sorted({name for pair in counts for name in pair})
    print("confusion (down: true, across: answered)")
    print(" " * 18 + "".join(f"{name[:8]:>9}" for name in types))
    for true in types:
        cells = "".join(f"{counts[true, answer] or '.':>9}" for answer in types)
        print(f"  {true:16}{cells}")


def show_errors(scored: list[Scored], limit: int) -> None:
    wrong = [one for one in scored if not one.right and half(one) == HALVES[0]]
    for one in wrong[:limit]:
        fired = [(piece["rule_id"], piece["matched"]) for piece in one.answer["evidence"]][:4]
        print(f"  {one.case.template} | {one.case.title} -> {one.answer['primary_type']} {fired}")


if __name__ == "__main__":
    main()
