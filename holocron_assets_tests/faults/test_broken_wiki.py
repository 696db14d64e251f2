"""A wiki that does everything wrong once, between good answers: `holocron run` ends as it always does."""

import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from broken_server import EVERYTHING
from fake_crawl import page_object
from fake_mediawiki import FakeWiki, Handler, api
from whole_holocron import WholeHolocron, whole_holocron

from holocron_assets.lake.tables import HTTP_ATTEMPTS, PAGES

pytestmark = pytest.mark.full

TITLES = [f"Planet {number:03}" for number in range(2 * len(EVERYTHING))]
TEXTS = {
    title: f"'''{title}''' is a planet near [[{TITLES[number - 1]}]]. [[Category:Planets]]"
    for number, title in enumerate(TITLES)
}
SEED = int(os.environ.get("HOLOCRON_FAULT_SEED") or random.SystemRandom().randrange(10**6))


class OnePageAtATime:
    """Answers for one of the pages asked for, and where to go on, as MediaWiki does with long ones.

    Attributes:
        delivered: how often each page's text was given.
        met: what was done wrong so far, in order.
    """

    def __init__(self, wiki: FakeWiki, broken: Sequence[str], seed: int) -> None:
        """Do each thing in `broken` before a good answer that the seed says."""
        self.delivered: Counter[str] = Counter()
        self.met: list[str] = []
        self._others = wiki.answer
        # Never two in a row: after five the wiki is rightly left alone for minutes.
        places = random.Random(seed).sample(range(len(TITLES)), len(broken))  # noqa: S311 - a test's order
        self._due = dict(zip(places, broken, strict=True))
        self._good = count()
        self._now = next(self._good)

    def behave(self, handler: Handler) -> None:
        is_of_texts = "titles" in handler.parameters
        name = self._due.pop(self._now, None) if is_of_texts else None
        if name is not None:
            self.met.append(name)
            EVERYTHING[name](handler)
            return
        if is_of_texts:
            self._now = next(self._good)
        api(self._answer)(handler)

    def _answer(self, asked: Mapping[str, str]) -> dict[str, Any]:
        if asked.get("list") == "random":
            return {"query": {"random": [{"title": title} for title in TITLES]}}
        if "titles" not in asked:
            return self._others(asked)
        titles = asked["titles"].split("|")
        place = int(asked.get("rvcontinue", "0"))
        title = titles[place]
        self.delivered[title] += 1
        found = page_object(title, TEXTS[title], pageid=TITLES.index(title) + 1)
        following = {"continue": {"rvcontinue": str(place + 1), "continue": "||"}}
        return {
            "query": {"pages": [found]},
            **(following if place + 1 < len(titles) else {"batchcomplete": True}),
        }


@contextmanager
def wiki_of_many(folder: Path, *broken: str) -> Iterator[tuple[WholeHolocron, OnePageAtATime]]:
    """A Holocron whose one source has all the pages, and its wiki, which does what a test wants meanwhile."""
    folder.mkdir()
    with whole_holocron(folder, texts=TEXTS, pages=0) as whole:
        wiki = OnePageAtATime(whole.wiki, broken, SEED)
        whole.wiki.behave = wiki.behave
        (whole.holocron.sources_folder / "tiny.yaml").write_text(
            f"name: tiny\nenabled: true\nkind: mediawiki_api\naddress: {whole.wiki.api_url}\n"
            f"private_hosts: [127.0.0.1]\nseeds: {{titles: {TITLES}}}\n"
            "politeness: {contact: test@example.org, requests_per_second: 100.0, timeout_seconds: 2.0}\n",
            encoding="utf-8",
        )
        yield whole, wiki


@pytest.mark.fault(4, "every broken answer once, at random between good ones, in one run")
def test_a_run_on_a_wiki_that_does_everything_wrong_publishes_what_an_undisturbed_one_does(
    tmp_path: Path,
) -> None:
    sys.stdout.write(f"HOLOCRON_FAULT_SEED={SEED}\n")
    with wiki_of_many(tmp_path / "clean") as (clean, _):
        clean.finish()
        expected = clean.hashes()
    with wiki_of_many(tmp_path / "broken", *EVERYTHING) as (whole, wiki):
        done = whole.command("run", seconds=900)
        assert done.returncode == 0, done.stdout + done.stderr
        assert sorted(wiki.met) == sorted(EVERYTHING), f"seed {SEED}"
        assert whole.hashes() == expected, f"seed {SEED}"
        pages = whole.rows(PAGES)
        assert sorted(page["title"] for page in pages) == TITLES
        assert {page["status"] for page in pages} == {"ok"}
        asked = Counter(row["outcome"] for row in whole.rows(HTTP_ATTEMPTS) if row["titles"])
        failures = asked.total() - asked["ok"]
        # Each failure cost its own request, and what was answered well was asked for no more. (A good answer
        # that a busy machine gives too late is one more failure.)
        assert asked["ok"] == len(TITLES)
        assert wiki.delivered.total() - len(TITLES) == failures - len(EVERYTHING)
