"""Search of small wikis that are made for what is tested."""

import json
import os
import resource
import shutil
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import tantivy
from embedded import DIMENSIONS, embed, embedded_lake, space, word_vector
from test_spaces import cut
from wiki_lake import BATCH, write_entities, write_wiki

from holocron_assets.derive.evidence.specs import SearchEvidence
from holocron_assets.derive.interrogations.settings import Embedding
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import ENTITY_ALIASES
from holocron_assets.retrieval.evidence import finding
from holocron_assets.retrieval.fusing import MEANING, NAME, WORDS
from holocron_assets.retrieval.highlights import highlights, pieces
from holocron_assets.retrieval.index.index import SearchIndex
from holocron_assets.retrieval.index.pointer import pointer_file
from holocron_assets.retrieval.index.vectors import NUMBERS
from holocron_assets.retrieval.names import whole_names_query
from holocron_assets.retrieval.search import Searcher, SearchError


def wiki(lake: Lake, texts: Mapping[str, str], batch: str = BATCH) -> None:
    """Write a batch of pages, cut into passages."""
    write_wiki(lake, texts, batch)
    cut(lake, batch)


def found_by_words(folder: Path, texts: Mapping[str, str], typed: str) -> set[str]:
    """Titles of the pages that a new index of some texts finds."""
    lake = Lake(folder)
    wiki(lake, texts)
    SearchIndex(lake).update()
    return {hit.row["title"] for hit in Searcher(lake, embed).search(typed, by=[WORDS]).hits}


@pytest.mark.parametrize("dimensions", [8, 256, 1024])
def test_a_space_of_any_multiple_of_8_dimensions_is_searched(tmp_path: Path, dimensions: int) -> None:
    wiki(Lake(tmp_path), {"Varn": "'''Varn''' flew.", "Oll": "'''Oll''' was a mason."})
    lake = embedded_lake(tmp_path, space(embedding=Embedding(dimensions=dimensions)))
    SearchIndex(lake).update()
    [nearest] = (
        SearchIndex(lake)
        .arrays("words", dimensions)
        .nearest(word_vector("Oll was a mason.", dimensions), 1, {})
    )
    [passage] = [row for row in read_partition(lake, space().table, BATCH) if row["title"] == "Oll"]
    assert nearest.passage_id == passage["passage_id"]


def test_while_a_space_changes_its_dimensions_those_of_the_query_are_compared(tmp_path: Path) -> None:
    table = space().table
    wiki(Lake(tmp_path), {name: f"'''{name}''' flew." for name in ("Varn", "Oll", "Ash")})
    wiki(Lake(tmp_path), {"Moor": "'''Moor''' flew."}, "wiki-000002")
    before = read_partition(embedded_lake(tmp_path, space()), table, BATCH)
    lake = embedded_lake(tmp_path, space(embedding=Embedding(dimensions=8)))
    after = read_partition(lake, table, BATCH)
    write_partition(lake, table, BATCH, [*after[:1], *before[1:]])
    SearchIndex(lake).update()
    assert {n: len(SearchIndex(lake).arrays("words", n)) for n in (8, DIMENSIONS)} == {8: 1, DIMENSIONS: 2}
    found = Searcher(lake, embed).search("flew", by=[MEANING])
    assert {hit.row["title"] for hit in found.hits} == {row["title"] for row in before[1:]}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Two pages, indexed; each has the words of the other in another order."""
    made = Lake(tmp_path)
    wiki(made, {"Sébulba": "'''Sébulba''' raced on the Brine Road.", "Road": "A '''road''' of brine."})
    SearchIndex(made).update()
    return made


@pytest.mark.parametrize("by", [NAME, WORDS])
def test_letters_are_found_with_their_accents_apart(lake: Lake, by: str) -> None:
    typed = unicodedata.normalize("NFD", "Sébulba")
    assert len(typed) > len("Sébulba")
    [hit] = Searcher(lake, embed).search(typed, by=[by]).hits
    assert hit.row["title"] == "Sébulba"
    assert [hit.row["text"][start:end] for start, end in highlights(hit.row["text"], typed)] == ["Sébulba"]


@pytest.mark.parametrize(
    "typed", ['"Brine Road"', "“Brine Road”", "„Brine Road“", "«Brine Road»", "『Brine Road』"]
)
def test_quotation_marks_of_any_kind_keep_words_in_a_row(lake: Lake, typed: str) -> None:
    hits = Searcher(lake, embed).search(typed, by=[WORDS]).hits
    assert [hit.row["title"] for hit in hits] == ["Sébulba"]


@pytest.fixture
def with_long_pages(tmp_path: Path) -> Lake:
    """Two pages of 150 passages that name Varn again and again, and 50 short ones that name it once."""
    section = "\n\n== {} ==\n" + "Varn flew with Varn and saw Varn. " * 3
    long = {title: "".join(map(section.format, range(150))) for title in ("Varn", "Saga")}
    short = {
        f"Ship {n}": f"This ship carried salt and tea, and now and then Varn. It has number {n}."
        for n in range(50)
    }
    made = Lake(tmp_path)
    wiki(made, {**long, **short})
    SearchIndex(made).update()
    return made


def test_long_pages_leave_places_to_other_pages(with_long_pages: Lake) -> None:
    searcher = Searcher(with_long_pages, embed)
    assert len(searcher.search("Varn", 10, by=[WORDS]).hits) == 10
    assert len(searcher.search("Varn", 100, by=[WORDS]).hits) == 52
    named = searcher.naming(["Varn"], 10, source="wiki", without="Varn")
    assert len(named) == 10
    assert "Varn" not in {row["title"] for row, _ in named}


def test_a_long_page_of_its_own_leaves_passages_as_evidence(with_long_pages: Lake) -> None:
    with finding(with_long_pages, SearchEvidence(source="search", query="Varn", limit=3)) as find:
        found = find("Varn", {("wiki", "Varn")})
    assert found[0]["from_title"] == "Saga"
    assert len(found) == 3


@pytest.mark.parametrize(
    "typed", ["Darth Vader", "Vader", "darth vader", "Darth Vadr", "who trained Darth Vader on the moon"]
)
def test_a_page_of_many_names_is_found_by_each_of_them_among_many_namesakes(
    tmp_path: Path, typed: str
) -> None:
    made = Lake(tmp_path)
    titles = ["Anakin Skywalker", *(f"Star Wars: Darth Vader {number}" for number in range(150))]
    wiki(made, {title: f"'''{title}''' is here." for title in titles})
    write_entities(made, "PersonCharacter", {"e1": titles[0]})
    names = ["Darth Vader", "Vader", *(f"Name {number}" for number in range(40))]
    write_partition(made, ENTITY_ALIASES, "PersonCharacter", [_alias("e1", name) for name in names])
    SearchIndex(made).update()
    hits = Searcher(made, embed).search(typed, by=[NAME]).hits
    assert hits[0].row["title"] == "Anakin Skywalker"


def test_only_what_may_be_a_title_is_compared_as_a_whole_with_names_that_are_almost_so(lake: Lake) -> None:
    schema = SearchIndex(lake).searcher().schema
    words = ["raced"] * 40
    assert "Fuzzy" in repr(whole_names_query(schema, words))
    assert "Fuzzy" not in repr(whole_names_query(schema, words * 2))


def test_a_search_of_too_many_characters_says_how_many_it_may_have(lake: Lake) -> None:
    searcher = Searcher(lake, embed)
    longest = "raced ".ljust(2_000, "x")
    assert searcher.search(longest, by=[NAME, WORDS]).hits
    with pytest.raises(SearchError, match="at most 2,000 characters, and this one has 2,001"):
        searcher.search(longest + "x")
    assert searcher.search(longest + "x", by=[WORDS]).hits  # as evidence, it may be a whole passage
    assert not searcher.names("raced " * 400)


def _alias(entity_id: str, name: str) -> dict[str, object]:
    of_page = {"source": "wiki", "from_title": "Anakin Skywalker", "revision_id": 100}
    named = {"alias": name, "alias_key": title_key("wiki", name), "kind": "infobox"}
    return {"entity_id": entity_id, "entity_type": "PersonCharacter", **of_page, **named}


def _lose_text(folder: Path) -> None:
    shutil.rmtree(folder / "text-1")


def _lose_positions(folder: Path) -> None:
    next(folder.glob("text-1/*.pos")).unlink()


def _cut_terms(folder: Path) -> None:
    file = next(folder.glob("text-1/*.term"))
    rest = file.read_bytes()[:-30]
    file.unlink()  # the index may have it mapped: to cut it in place would end this process
    file.write_bytes(rest)


def _make_by_an_older_version(folder: Path) -> None:
    shutil.rmtree(folder / "text-1")
    (folder / "text-1").mkdir()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("source")
    tantivy.Index(builder.build(), str(folder / "text-1"))


@pytest.mark.parametrize("damage", [_lose_text, _lose_positions, _cut_terms, _make_by_an_older_version])
def test_an_index_that_cannot_be_read_says_so_and_the_next_update_makes_it_anew(
    lake: Lake, damage: Callable[[Path], None]
) -> None:
    index = SearchIndex(lake)
    assert not index.is_stale()
    damage(lake.root / "search")
    with pytest.raises(SearchError, match="`holocron run` makes it anew"):
        Searcher(lake, embed)
    assert index.is_stale()
    assert index.update().replaced == (BATCH,)
    assert not index.is_stale()
    assert [hit.row["title"] for hit in Searcher(lake, embed).search("raced", by=[WORDS]).hits] == ["Sébulba"]


def _lose_vectors(folder: Path) -> None:
    shutil.rmtree(folder / "text-1-vectors")


def _empty_signs(folder: Path) -> None:
    next(folder.glob("text-1-vectors/words/*/signs.npy")).write_bytes(b"")


@pytest.mark.parametrize("damage", [_lose_vectors, _empty_signs])
def test_lost_vectors_leave_searches_without_meaning_until_the_next_update(
    lake: Lake, damage: Callable[[Path], None]
) -> None:
    embedded = embedded_lake(lake.root, space())
    SearchIndex(embedded).update()
    damage(embedded.root / "search")
    found = Searcher(embedded, embed).search("raced")
    assert found.without_meaning == "the vectors are damaged: `holocron run` makes them anew"
    assert found.hits
    assert SearchIndex(embedded).is_stale()
    SearchIndex(embedded).update()
    assert not SearchIndex(embedded).is_stale()
    assert Searcher(embedded, embed).search("raced").without_meaning is None


def test_vectors_that_are_cut_off_leave_searches_without_meaning_until_the_next_update(lake: Lake) -> None:
    wiki(lake, {"Moor": "'''Moor''' raced."}, "wiki-000002")
    embedded = embedded_lake(lake.root, space())
    SearchIndex(embedded).update()
    opened = Searcher(embedded, embed)
    assert len(opened.search("raced", by=[MEANING]).hits) == 2
    numbers = next(embedded.root.glob(f"search/text-1-vectors/words/wiki-000002-*/{NUMBERS}"))
    cut_off = numbers.read_bytes()[: DIMENSIONS // 2]
    numbers.unlink()
    lost = opened.search("raced")
    assert lost.hits
    assert lost.without_meaning == "the vectors cannot be read: No such file or directory"
    numbers.write_bytes(cut_off)
    found = Searcher(embedded, embed).search("raced")
    assert found.without_meaning == "the vectors are damaged: `holocron run` makes them anew"
    assert SearchIndex(embedded).is_stale()
    SearchIndex(embedded).update()
    assert not SearchIndex(embedded).is_stale()
    assert len(Searcher(embedded, embed).search("raced", by=[MEANING]).hits) == 2


def test_vectors_of_a_version_that_told_no_dimensions_are_made_anew(lake: Lake) -> None:
    embedded = embedded_lake(lake.root, space())
    SearchIndex(embedded).update()
    file = pointer_file(embedded)
    older = json.loads(file.read_text())
    del older["batches"][BATCH]["spaces"]["words"]["dimensions"]
    file.write_text(json.dumps({**older, "version": "older"}))
    found = Searcher(embedded, embed).search("raced")
    assert found.without_meaning == "the vectors are damaged: `holocron run` makes them anew"
    assert SearchIndex(embedded).update().replaced == (BATCH,)
    assert Searcher(embedded, embed).search("raced").without_meaning is None


@contextmanager
def _files_left(count: int) -> Iterator[None]:
    """Let this process open only so many more files."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(file.name) for file in Path("/proc/self/fd").iterdir())
    taken: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + count + 1, limits[1]))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(count):
            os.close(taken.pop())
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for one in taken:
            os.close(one)


@pytest.mark.parametrize("files", [1, 2])  # the texts cannot be opened, or the vectors
def test_an_index_that_cannot_be_read_for_a_moment_is_not_made_anew(lake: Lake, files: int) -> None:
    embedded = embedded_lake(lake.root, space())
    SearchIndex(embedded).update()
    with _files_left(files), pytest.raises(OSError, match="Too many open files"):
        SearchIndex(embedded).is_stale()
    assert not SearchIndex(embedded).is_stale()
    with _files_left(1), pytest.raises(SearchError, match="cannot be read now: Too many open files"):
        Searcher(embedded, embed)


def test_a_pointer_that_cannot_be_read_is_as_none(lake: Lake) -> None:
    pointer_file(lake).write_text("{")
    with pytest.raises(SearchError, match="nothing is indexed yet"):
        Searcher(lake, embed)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("東京", {"首都", "塔"}),
        ('"東京の塔"', {"塔"}),
        ("彼は東京の塔で働いていたが後に漂流船の船長になった", {"塔", "首都", "船"}),
        ("船", {"船"}),
        ("กรุงเทพ", {"Bangkok"}),
        ("captain", {"Bangkok"}),
    ],
)
def test_words_are_found_where_a_language_writes_no_spaces(
    tmp_path: Path, typed: str, expected: set[str]
) -> None:
    texts = {
        "首都": "この国の首都は東京であり、長い歴史を持つ大きな都市として世界中の人々に知られている。",
        "塔": "彼女は東京の塔に登って星を眺めながら銀河帝国の歴史について長い本を書いた最初の人である。",
        "船": "漂流する船は長い間この海の上を静かに進み続けたので誰もその名前を覚えている者はいなかった。",
        "Bangkok": "The captain saw พวกเขาเดินทางไปที่กรุงเทพมหานครเพื่อพบกับกัปตันเรือคนสุดท้าย in spring.",
    }
    assert found_by_words(tmp_path, texts, typed) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("京大", {"Kyoto University"}),
        ("東京", {"Tower"}),
        ("第4章", {"Chapter"}),
        ("第3章", set()),
        ('"北京、大阪"', {"Cities"}),
        ('"東京 tower"', {"Tower"}),
        ('"Tower 大阪"', set()),
        ("「京大の学」", {"Kyoto University"}),
        ("『京大学』", set()),
        ("「・」", set()),
        ('"Cities 北京"', set()),
        ("นคร", {"Bangkok"}),
    ],
)
def test_letters_with_something_between_them_stand_in_no_row(
    tmp_path: Path, typed: str, expected: set[str]
) -> None:
    texts = {
        "Sea": "They saw 東 of the sea and 京 too.",
        "Tower": "He saw 東京 Tower and 大阪 from afar.",
        "Kyoto University": "彼は京大の学生だった。",
        "Cities": "北京、大阪とその他の町。",
        "Chapter": "これは第4章である。",
        "Bangkok": "มหา\u200bน\u200bคร",
    }
    assert found_by_words(tmp_path, texts, typed) == expected


@pytest.mark.parametrize(
    ("text", "typed", "expected"),
    [
        ("彼女は東京の塔に登って東京を見た。", "東京 ship", ["東京", "東京"]),
        ("彼女は東京塔に登って東京を見た。", "東京 東京塔", ["東京塔", "東京"]),
        ("彼は東京の塔で、長く働いた。", "彼は東京の塔で働いていた", ["彼は東京の塔で", "働いた"]),
        ("กรณีนี้เกิดขึ้นที่กรุงเทพ", "กรุงเทพ", ["กรุงเทพ"]),
        ("กรุงเทพ", "กร", []),
        ("នៅក្រុងភ្នំពេញ", "ភ្នំពេញ", ["ភ្នំពេញ"]),
        ("He saw 東京Tower and the tower.", "京tower", ["京Tower"]),
        ("首都は東京", "船", []),
    ],
)
def test_letters_without_spaces_around_them_are_marked(text: str, typed: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in highlights(text, typed)] == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("Lamp War", ["Lamp", "War", "lamp", "Lamp"]),
        ("war of the lamp", ["The", "Lamp", "War", "lamp", "the", "Lamp"]),
        ("the war", ["The", "War", "war", "the"]),
    ],
)
def test_a_short_word_is_marked_beside_another_that_was_searched(typed: str, expected: list[str]) -> None:
    text = "The Lamp War began as a war over lamp oil, by the Lamp."
    assert [text[start:end] for start, end in highlights(text, typed)] == expected


@pytest.mark.parametrize(
    ("text", "searched"),
    [
        ("彼は星を眺めながら本を書いた。" * 40 + "東京の塔に登った。" + "海を静かに進んだ。" * 40, "東京"),
        ("first " + "พวกเขาเดินทางไปที่" * 40 + "กรุงเทพ" + "มหานครเพื่อพบกับกัปตันเรือ" * 20, "กรุงเทพ"),
        ("A short word, " + "x" * 900 + "-tower was far.", "tower"),
        ("The old ship sailed on and on. " * 40 + "It saw the tower. " + "Then it sailed on. " * 40, "tower"),
    ],
)
def test_an_excerpt_shows_what_was_searched_far_into_a_text(text: str, searched: str) -> None:
    shown = list(pieces(text, searched, 300))
    assert [piece for piece, is_marked in shown if is_marked] == [searched]
    assert shown[0] == ("… ", False)
    assert len("".join(piece for piece, _ in shown)) <= 304


def test_an_excerpt_begins_with_a_whole_word() -> None:
    text = "The old ship sailed on and on. " * 40 + "It saw the tower. " + "Then it sailed on. " * 40
    for left_out in range(30):
        _, (before, _), *_ = pieces(text[left_out:], "tower", 300)
        assert before.split()[0] in {"The", "old", "ship", "sailed", "on", "and", "on."}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("東京", {"塔": ["東京", "東京"], "Latin": ["東京"]}),
        ("ルーク・スカイウォーカー", {"船": ["ルーク・スカイウォーカー"]}),
        ("R2", {"船": ["R2"], "한국": ["R2"]}),
        ("第4章", {"章": ["第4章"]}),
        ("กรุงเทพ", {"Bangkok": ["กรุงเทพ"]}),
        ("กร", {}),
        ("루크", {"루크": ["루크"], "한국": ["루크", "루크"]}),
        ("한 솔로", {"한국": ["한 솔로"]}),
        ("Varn", {"Latin": ["Varn"], "한국": ["Varn"]}),
        ("1", {}),
    ],
)
def test_passages_with_a_name_are_found_where_a_language_puts_no_space_around_it(
    tmp_path: Path, name: str, expected: dict[str, list[str]]
) -> None:
    made = Lake(tmp_path)
    texts = {
        "塔": "彼女は東京の塔に登って東京を見た。",
        "Latin": "Varn saw 東京Tower; the Varnish was red.",
        "船": "彼はR2とルーク・スカイウォーカーの船で東の京に行った。",
        "章": "これは第4章である。第14章ではない。",
        "Bangkok": "พวกเขาเดินทางไปที่กรุงเทพมหานคร",
        "루크": "신루크가 아니라 루크는 갔다.",
        "한국": "한 솔로가 R2 로 루크에게, 루크와 갔다. 신한 솔로는 Varn 을 보았다.",
    }
    wiki(made, texts)
    SearchIndex(made).update()
    found = Searcher(made, embed).naming([name], 10, source="wiki", without="")
    named = {row["title"]: [row["text"][start:end] for start, end in places] for row, places in found}
    assert named == expected
