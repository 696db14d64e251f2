"""Search over the sample wiki: names, words and meaning, filters, and an index that follows the lake."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from time import sleep, time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from embedded import DIGEST, DIMENSIONS, embed, searched_sample

from holocron_assets.crawl.sources.seeds import load_site
from holocron_assets.derive.evidence.page_text import page_text
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITIES, ENTITY_ALIASES, PAGE_CHUNKS, PAGE_SIGNALS, PAGE_TYPES, PAGES
from holocron_assets.lake.views.database import connect
from holocron_assets.retrieval import word_queries
from holocron_assets.retrieval.asking import NoVectorError, QueryVector
from holocron_assets.retrieval.fusing import MEANING, NAME, WORDS
from holocron_assets.retrieval.highlights import highlights
from holocron_assets.retrieval.index.contents import RELATIONS, page_digests, pages_of_batch
from holocron_assets.retrieval.index.full_text import name_words
from holocron_assets.retrieval.index.index import SearchIndex
from holocron_assets.retrieval.index.joined import Batch, groups_of
from holocron_assets.retrieval.index.nearest import SpaceArrays
from holocron_assets.retrieval.index.pointer import pointer_file
from holocron_assets.retrieval.index.vectors import COLUMNS, NUMBERS, PASSAGE, Scanned, signs_of
from holocron_assets.retrieval.names import fit_of_names, places_of_names
from holocron_assets.retrieval.search import Searcher, SearchError, searcher_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sample_holocron import Holocron

BATCH = "sample-000001"


@pytest.fixture(scope="module")
def lake(finished_sample: "Holocron", tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The sample, embedded and indexed. Copy its folder to change it."""
    return searched_sample(finished_sample, tmp_path_factory.mktemp("searched"))


@pytest.fixture
def changed(lake: Lake, tmp_path: Path) -> Lake:
    """A copy of it."""
    shutil.copytree(lake.root, tmp_path / "data")
    return Lake(tmp_path / "data", lake.derived_tables)


def test_to_index_a_batch_no_passages_of_another_are_opened(changed: Lake) -> None:
    other = changed.file(PAGE_CHUNKS, "sample-000002")
    other.parent.mkdir()
    other.write_bytes(b"no Parquet")
    with connect(changed, relations=RELATIONS, made_once=["current_answers"]) as connection:
        page_digests(connection)
        pages = pages_of_batch(changed, connection, BATCH)
    indexed = {page.row["title_key"] for page in pages}
    of_them = [row for row in read_partition(changed, PAGE_CHUNKS, BATCH) if row["title_key"] in indexed]
    assert 0 < sum(len(page.passages) for page in pages) == len(of_them)


def titles(lake: Lake, text: str, **options: object) -> list[str]:
    found = Searcher(lake, embed).search(text, **options)  # type: ignore[arg-type]
    return [hit.row["title"] for hit in found.hits]


def test_a_name_is_found_with_errors_of_typing(lake: Lake) -> None:
    found = Searcher(lake, embed).search("Isa Dorrano")
    assert found.hits[0].row["title"] == "Issa Dorrane"
    assert "Issa Dorrane/Legends" in {hit.row["title"] for hit in found.hits[:3]}
    assert found.hits[0].name == "Issa Dorrane"
    assert "name" in found.hits[0].matched_by


def test_words_of_a_passage_find_it_and_its_headings(lake: Lake) -> None:
    found = Searcher(lake, embed).search("tidal barges left home at sixteen")
    hit = found.hits[0]
    assert hit.row["title"] == "Issa Dorrane"
    assert hit.row["headings"] == ["Biography", "Early life"]
    assert "tidal barges" in hit.row["text"]
    assert hit.ranks == {"words": 1, "meaning": 1}


def test_a_hit_quotes_the_page_at_its_offsets(lake: Lake) -> None:
    pages = {row["title"]: row for row in read_partition(lake, PAGES, BATCH)}
    names = {row["title"]: row["name"] for row in read_partition(lake, PAGE_SIGNALS, BATCH)}
    hits = Searcher(lake, embed).search("captain of a freighter").hits
    assert hits
    for row in (hit.to_json() for hit in hits):
        title = row["title"]
        text = page_text(pages[title]["wikitext"], load_site(lake, "sample"), names[title])
        assert text[row["start"] : row["end"]] == row["passage"]


def test_filters_apply_inside_the_search(lake: Lake) -> None:
    found = Searcher(lake, embed).search("the", 100, wanted={"type": ["Species"], "state": ["promoted"]})
    assert found.hits
    assert {(hit.row["type"], hit.row["state"]) for hit in found.hits} == {("Species", "promoted")}
    assert titles(lake, "the", wanted={"source": ["another"]}) == []


def test_passages_that_have_a_name_are_found_once_a_page_and_without_the_page_itself(lake: Lake) -> None:
    searcher = Searcher(lake, embed)
    found = searcher.naming(["Elowe Marsh"], 100, source="sample", without="Elowe Marsh")
    titles = [row["title"] for row, _ in found]
    assert "Battle of Cassivane" in titles
    assert "Elowe Marsh" not in titles
    assert len(set(titles)) == len(titles)
    assert {row["text"][start:end] for row, places in found for start, end in places} == {"Elowe Marsh"}
    assert len(searcher.naming(["Elowe Marsh"], 2, source="sample", without="")) == 2
    assert searcher.naming(["Elowe Marsh"], 2, source="another", without="") == []
    assert searcher.naming(["", "?!"], 2, source="sample", without="") == []


def test_a_name_is_in_a_text_only_word_for_word() -> None:
    text = "Marks of the mark, and Mark Twain"
    assert [text[start:end] for start, end in places_of_names(text, ["Mark"])] == ["mark", "Mark"]
    assert [text[start:end] for start, end in places_of_names(text, ["Mark", "Mark Twain", " "])] == [
        "mark",
        "Mark Twain",
    ]
    assert places_of_names(text, []) == []


def test_an_unknown_filter_names_those_there_are(lake: Lake) -> None:
    with pytest.raises(SearchError, match=r"colour: a search is narrowed by type, continuity, source, state"):
        Searcher(lake, embed).search("salt", wanted={"colour": ["red"]})


def test_a_page_is_shown_once_unless_more_is_asked(lake: Lake) -> None:
    once = titles(lake, "Issa Dorrane captain", limit=20)
    assert len(set(once)) == len(once)
    thrice = titles(lake, "Issa Dorrane captain", limit=20, a_page=3)
    assert max(map(thrice.count, thrice)) in {2, 3}


def test_pages_that_serve_the_site_are_not_found(lake: Lake) -> None:
    found = Searcher(lake, embed).search("category template forum infobox", 100)
    assert "TechnicalSitePage" not in {hit.row["type"] for hit in found.hits}


@pytest.mark.parametrize("text", ["", "  ", "?!", '"', "(", "AND OR NOT", "title:", "*", "[a TO", "\x00"])
def test_any_text_can_be_searched(lake: Lake, text: str) -> None:
    assert Searcher(lake, embed).search(text) is not None


def test_a_question_without_spaces_is_searched_by_meaning_however_long_it_is(lake: Lake) -> None:
    def no_model(_text: str, _spaces: "Mapping[str, int]") -> QueryVector:
        raise NoVectorError("the model is gone")

    found = Searcher(lake, no_model).search("谁在帝国灭亡之后建造了第一座空间站并且成为了它的指挥官" * 4)
    assert found.without_meaning == "the model is gone"


@pytest.mark.parametrize("title", ["银河帝国第一舰队第七分队的最后一位指挥官的回忆录", "ก" * 85])
def test_a_title_without_spaces_is_one_word_however_long_it_is(title: str) -> None:
    assert fit_of_names([title], name_words(title)) == (1.0, title)


def test_without_a_model_words_and_names_are_searched_and_it_says_so(lake: Lake) -> None:
    def no_vector(_text: str, _embedded: "Mapping[str, int]") -> QueryVector:
        raise NoVectorError("no model server runs")

    found = Searcher(lake, no_vector).search("tidal barges")
    assert found.without_meaning == "no model server runs"
    assert found.hits[0].matched_by == ["words"]


def test_vectors_of_another_build_of_the_model_are_not_compared(lake: Lake) -> None:
    def of_another(text: str, embedded: "Mapping[str, int]") -> QueryVector:
        return QueryVector("words", "e" * 64, embed(text, embedded).numbers)

    found = Searcher(lake, of_another).search("tidal barges")
    assert found.without_meaning is not None
    assert "build" in found.without_meaning
    assert found.hits


def test_a_lake_without_an_index_says_what_makes_one(tmp_path: Path) -> None:
    with pytest.raises(SearchError, match="holocron run"):
        searcher_of(Lake(tmp_path))


def test_an_unchanged_lake_is_not_indexed_again(lake: Lake) -> None:
    index = SearchIndex(lake)
    assert not index.is_stale()
    assert index.update().replaced == ()


def test_a_changed_passage_is_found_and_the_old_one_is_gone(changed: Lake) -> None:
    rows = [dict(row) for row in read_partition(changed, PAGE_CHUNKS, BATCH)]
    row = next(row for row in rows if "tidal barges" in row["text"])
    row["text"] = "She learned to steer on paper kites."
    write_partition(changed, PAGE_CHUNKS, BATCH, rows)
    before = searcher_of(changed)
    assert SearchIndex(changed).is_stale()
    update = SearchIndex(changed).update()
    assert update.replaced == (BATCH,)
    assert searcher_of(changed) is not before
    hits = Searcher(changed, embed).search("paper kites").hits
    assert hits[0].row["text"] == row["text"]
    assert "tidal barges" not in "".join(
        hit.row["text"] or "" for hit in Searcher(changed, embed).search("tidal barges", 50).hits
    )


def test_a_changed_type_is_found_by_its_filter(changed: Lake) -> None:
    rows = [dict(row) for row in read_partition(changed, PAGE_TYPES, BATCH)]
    row = next(row for row in rows if row["title"] == "Quill")
    row["primary_type"] = "Droid"
    write_partition(changed, PAGE_TYPES, BATCH, rows)
    SearchIndex(changed).update()
    found = Searcher(changed, embed).search("Quill", wanted={"type": ["Droid"]})
    assert "Quill" in {hit.row["title"] for hit in found.hits}
    assert "meaning" in {kind for hit in found.hits for kind in hit.ranks}


def test_a_page_is_found_without_the_entity_of_a_gone_page_that_had_its_title(changed: Lake) -> None:
    rows = [dict(row) for row in read_partition(changed, ENTITIES, "PersonCharacter")]
    row = next(row for row in rows if row["title"] == "Issa Dorrane")
    aliases = [dict(each) for each in read_partition(changed, ENTITY_ALIASES, "PersonCharacter")]
    next(each for each in aliases if each["entity_id"] == row["entity_id"])["alias"] = "Quorblint"
    write_partition(changed, ENTITY_ALIASES, "PersonCharacter", aliases)
    SearchIndex(changed).update()
    assert _found_page(changed, "Quorblint")["entity_id"] == row["entity_id"]
    row["page_id"] = 999_999
    write_partition(changed, ENTITIES, "PersonCharacter", rows)
    SearchIndex(changed).update()
    found = _found_page(changed, "Issa Dorrane")
    assert (found["entity_id"], found["type"]) == (None, "PersonCharacter")
    assert Searcher(changed, embed).search("Quorblint", by=[NAME, WORDS]).hits == []


def test_the_page_of_a_merged_entity_is_found_with_the_entity_that_stays(changed: Lake) -> None:
    rows = [dict(row) for row in read_partition(changed, ENTITIES, "PersonCharacter")]
    by_title = {row["title"]: row for row in rows}
    stays, gone = by_title["Issa Dorrane"], by_title["Issa Dorrane/Legends"]
    gone |= {"state": "merged", "merged_into": stays["entity_id"]}
    write_partition(changed, ENTITIES, "PersonCharacter", rows)
    SearchIndex(changed).update()
    found = _found_page(changed, *[gone["title"]] * 2)
    assert (found["entity_id"], found["state"]) == (stays["entity_id"], stays["state"])
    assert gone["title"] in titles(changed, "Issa Dorrane", wanted={"state": [stays["state"]]})
    stays["state"] = "suppressed"
    write_partition(changed, ENTITIES, "PersonCharacter", rows)
    SearchIndex(changed).update()
    found = _found_page(changed, *[gone["title"]] * 2)
    assert (found["entity_id"], found["state"]) == (None, "none")


def test_a_page_is_found_by_the_redirects_to_all_of_it_as_they_are_now(changed: Lake) -> None:
    def found_by_redirect(**columns: object) -> bool:
        for batch, rows in signals.items():
            now = [{**row, **columns} if row["title"] == "Kellubanes" else row for row in rows]
            write_partition(changed, PAGE_SIGNALS, batch, now)
        SearchIndex(changed).update()
        hits = Searcher(changed, embed).search("Kellubanes", by=[NAME]).hits
        return any((hit.row["title"], hit.name) == ("Kellubane", "Kellubanes") for hit in hits)

    for name in changed.partitions(ENTITY_ALIASES):
        rows = read_partition(changed, ENTITY_ALIASES, name)
        kept = [dict(row) for row in rows if row["alias"] != "Kellubanes"]
        write_partition(changed, ENTITY_ALIASES, name, kept)
    signals = {
        name: [dict(row) for row in read_partition(changed, PAGE_SIGNALS, name)]
        for name in changed.partitions(PAGE_SIGNALS)
    }
    assert found_by_redirect()
    assert not found_by_redirect(redirect_target="Kellubane#Seeds")
    assert not found_by_redirect(is_redirect=False, redirect_target=None)


def _found_page(lake: Lake, text: str, title: str = "Issa Dorrane") -> "Mapping[str, Any]":
    hits = Searcher(lake, embed).search(text).hits
    return next(hit.row for hit in hits if hit.row["title"] == title)


def test_a_searcher_of_before_an_update_goes_on(changed: Lake) -> None:
    before = Searcher(changed, embed)
    rows = [dict(row) for row in read_partition(changed, PAGE_CHUNKS, BATCH)]
    write_partition(changed, PAGE_CHUNKS, BATCH, rows[: len(rows) // 2])
    _age(changed)
    SearchIndex(changed).update()
    found = before.search("tidal barges left home", by=[MEANING])
    assert found.hits
    _age(changed)
    SearchIndex(changed).update()
    gone = before.search("tidal barges left home", by=[MEANING])
    assert gone.without_meaning == "the vectors cannot be read: No such file or directory"


def test_an_index_without_vectors_stays_for_a_while_when_it_is_replaced(changed: Lake) -> None:
    bare = Lake(changed.root)
    SearchIndex(bare).update(anew=True)
    for _ in range(6):  # in one of two orders of its folders, it was removed at once
        _age(bare)
        pointer = pointer_file(bare)
        before = pointer.with_name(json.loads(pointer.read_text())["text"])
        SearchIndex(bare).update(anew=True)
        assert before.exists()


def _age(lake: Lake) -> None:
    """Let all that is indexed be an hour old."""
    for folder in (lake.root / "search").glob("**/"):
        os.utime(folder, (time() - 3600, time() - 3600))


def test_a_killed_update_leaves_the_old_state_and_the_next_is_whole(
    changed: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [dict(row) for row in read_partition(changed, PAGE_CHUNKS, BATCH)]
    write_partition(changed, PAGE_CHUNKS, BATCH, rows[1:])

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SearchIndex, "point_to", killed)
        with pytest.raises(KeyboardInterrupt):
            SearchIndex(changed).update()
    assert SearchIndex(changed).is_stale()
    assert Searcher(changed, embed).search("salt").hits
    update = SearchIndex(changed).update()
    assert update.replaced == (BATCH,)
    assert update.passages == _searched_passages(changed)


def _searched_passages(lake: Lake) -> int:
    """How many passages there are of pages that do not serve the site."""
    types = {row["title"]: row["primary_type"] for row in read_partition(lake, PAGE_TYPES, BATCH)}
    chunks = read_partition(lake, PAGE_CHUNKS, BATCH)
    return sum(types[chunk["title"]] != "TechnicalSitePage" for chunk in chunks)


def test_a_killed_rebuild_leaves_the_filters_of_the_old_index_as_they_were(
    changed: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def types() -> dict[str, set[str]]:
        searcher = Searcher(changed, embed)
        wanted = ("Species", "VehicleCraft", "PersonCharacter")
        hits = {one: searcher.search("the salt ship", 50, wanted={"type": [one]}).hits for one in wanted}
        return {
            one: {hit.row["title"] for hit in found if "meaning" in hit.ranks} for one, found in hits.items()
        }

    rows = [dict(row) for row in read_partition(changed, PAGE_TYPES, BATCH)]
    for row in rows:  # types now get their numbers in another order than when the index was begun
        row["primary_type"] = {"Concept": "Species", "Species": "Concept"}.get(
            row["primary_type"], row["primary_type"]
        )
    write_partition(changed, PAGE_TYPES, BATCH, rows[::-1])
    SearchIndex(changed).update()
    before = types()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SearchIndex, "point_to", killed)
    with pytest.raises(KeyboardInterrupt):
        SearchIndex(changed).update(anew=True)
    assert any(before.values())
    assert types() == before


def test_searches_use_the_old_index_until_a_rebuilt_one_is_whole(
    changed: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []

    def look(*_: object) -> None:
        found.append(Searcher(changed, embed).search("salt").hits)

    monkeypatch.setattr(SearchIndex, "_remove_unused", look)
    replace = SearchIndex._replace

    def replacing(self: SearchIndex, *arguments: Any) -> None:
        replace(self, *arguments)
        look()

    monkeypatch.setattr(SearchIndex, "_replace", replacing)
    SearchIndex(changed).update(anew=True)
    assert len(found) == 2
    assert all(found)


def test_a_rebuilt_index_gives_the_same_hits(changed: Lake) -> None:
    texts = ("Issa Dorrane", "salt trade", "who built the ship")
    before = [Searcher(changed, embed).search(text).hits for text in texts]
    SearchIndex(changed).update(anew=True)
    after = [Searcher(changed, embed).search(text).hits for text in texts]
    assert [[hit.to_json() for hit in hits] for hits in before] == [
        [hit.to_json() for hit in hits] for hits in after
    ]


def test_the_nearest_of_an_exact_comparison_are_found(lake: Lake) -> None:
    arrays = SearchIndex(lake).arrays("words", DIMENSIONS)
    vector = embed("a ship that carried tea", {"words": 1}).numbers
    quick = arrays.nearest(vector, 10, {"model": [DIGEST]})
    exact = arrays.nearest(vector, len(arrays), {"model": [DIGEST]})
    assert len({one.passage_id for one in quick} & {one.passage_id for one in exact[:10]}) >= 8
    assert [one.cosine for one in exact] == sorted((one.cosine for one in exact), reverse=True)


def test_the_scan_takes_the_nearest_signs_and_of_equal_ones_the_first(tmp_path: Path) -> None:
    generator = np.random.default_rng(7)
    batches = {}
    for number in range(130):  # three groups, of which the last has two batches
        signs = generator.integers(0, 16, (2, 700), dtype=np.uint64)  # so few bits that most are equal
        passages = np.array([(list(generator.bytes(16)), number) for _ in range(700)], PASSAGE)
        folder = tmp_path / f"wiki-{number:06}"
        codes = generator.integers(0, 3, (len(COLUMNS), 700), dtype=np.uint16)
        Scanned(signs, codes, passages).write(folder)
        (folder / NUMBERS).write_bytes(generator.integers(-9, 9, (700, 128), dtype=np.int8).tobytes())
        batches[folder.name] = Batch(folder, 700, 128)
    groups = groups_of(batches)
    assert [len(group.batches) for group in groups] == [64, 64, 2]
    for group in groups:
        group.join()
    parts = [Scanned.read(folder) for folder, *_ in batches.values()]
    joined = Scanned.joined(parts)
    vector = generator.standard_normal(128)
    far = np.bitwise_count(joined.signs ^ signs_of(vector[None])[0][:, None]).sum(0)
    far[joined.codes[0] != 1] = 255
    expected = np.argsort(far, kind="stable")[:400]
    found = SpaceArrays(groups, {"type=Droid": 1}).nearest(vector.tolist(), 100, {"type": ["Droid"]})
    numbers = np.concatenate([np.fromfile(folder / NUMBERS, np.int8) for folder, *_ in batches.values()])
    compared = numbers.reshape(-1, 128)[expected].astype(np.float32)
    cosines = compared @ vector / np.linalg.norm(compared, axis=1) / np.linalg.norm(vector)
    best = expected[np.argsort(-cosines)[:100]]
    assert [one.passage_id for one in found] == [bytes(joined.passages["passage"][row]).hex() for row in best]
    assert [one.page for one in found] == joined.passages["page"][best].tolist()


@pytest.mark.parametrize(
    "text",
    [
        "who carried tea on the Brine Road",
        "the of and in",
        "Issa Dorrane was a captain of the ship",
        'the "Patient Heron" is a ship of the fleet',
        "no-such-word the salt",
        "the the salt salt",
    ],
)
@pytest.mark.parametrize("few", [0, 5, 20_000])
def test_frequent_words_change_no_hit_and_no_score(
    lake: Lake, text: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_queries, "_FEW", few)
    index = SearchIndex(lake).searcher()
    searcher = index.searcher()
    query, _ = index.parse_query_lenient(text, ["text", "place"], field_boosts={"place": 1.5})
    for limit in (3, 20, 1000):
        all_words = searcher.search(query, limit, count=False).hits
        found = word_queries.WordQueries(index.schema, searcher).best(text, limit, lambda one: one)
        assert [score for score, _ in found] == pytest.approx([score for score, _ in all_words], rel=1e-5)


def test_accents_that_stand_on_no_letter_of_their_own_part_no_word(lake: Lake) -> None:
    written = "Ma\u0331ruhn"
    for searched in ("Maruhn", written, "maruhn people"):
        assert titles(lake, searched)[0] == written
    text = f"The {written} sing"
    assert [text[start:end] for start, end in highlights(text, "maruhn")] == [written]


def test_what_is_typed_is_no_language_of_queries(lake: Lake) -> None:
    assert titles(lake, "Patient -Heron") == titles(lake, "Patient Heron")
    assert titles(lake, "text:tidal barges AND") == titles(lake, "tidal barges text and")


@pytest.mark.parametrize(
    ("searched", "names", "expected"),
    [
        ("who trained Mara Solis?", ["Mara Solis"], "Mara Solis"),
        ("solis", ["Mara Solis", "Solid ground"], "Mara Solis"),
        ("salt", ["Salt", "Salt Guild"], "Salt"),
        ("Ötheron", ["Otheron"], "Otheron"),
    ],
)
def test_the_name_that_shares_most_with_what_is_searched_fits_best(
    searched: str, names: list[str], expected: str
) -> None:
    fit, name = fit_of_names(names, name_words(searched))
    assert (fit > 0, name) == (True, expected)


@pytest.mark.parametrize(
    ("searched", "name", "expected"),
    [
        ("Bora", "Bora Bora", 0.5),
        ("Bora Bora", "Bora", 0.5),
        ("Bora Tahi", "Bora Bora", 0.5),
        ("Bora Bora", "Bora Bora", 1),
        ("Bora Borra", "Bora Bora", 8 / 9 - 0.05),
    ],
)
def test_a_word_that_a_name_repeats_counts_as_often_as_it_is_searched(
    searched: str, name: str, expected: float
) -> None:
    assert fit_of_names([name], name_words(searched))[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("searched", "name"), [("cat", "dog"), ("red ship", "red car"), ("ab", "ac"), ("", "x")]
)
def test_a_name_that_shares_too_little_does_not_fit(searched: str, name: str) -> None:
    assert fit_of_names([name], name_words(searched))[0] == 0


@pytest.mark.system
@pytest.mark.fault(9, "SIGKILL of a process that updates the search index")
def test_searches_go_on_while_updates_are_killed_and_the_next_update_is_whole(changed: Lake) -> None:
    program = (
        "import sys; from pathlib import Path; from embedded import space\n"
        "from holocron_assets.lake.place.paths import Lake\n"
        "from holocron_assets.retrieval.index.index import SearchIndex\n"
        "lake = Lake(Path(sys.argv[1]), (space().table,)); print('ready', flush=True)\n"
        "while True: SearchIndex(lake).update(anew=True)\n"
    )
    places = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    for moment in (0.05, 0.15, 0.3, 0.5):
        command = [sys.executable, "-c", program, str(changed.root)]
        with subprocess.Popen(  # noqa: S603 - our own program
            command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": places}
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            sleep(moment)
            process.kill()
        SearchIndex(changed).update()
        found = Searcher(changed, embed).search("tidal barges left home at sixteen")
        assert found.hits[0].row["title"] == "Issa Dorrane"
        assert found.hits[0].ranks == {"words": 1, "meaning": 1}
