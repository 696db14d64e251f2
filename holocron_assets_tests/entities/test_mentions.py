"""What the names of list pages mean, over real Parquet and pages that went through the real steps."""

from pathlib import Path
from time import process_time

import pytest
from listed_wiki import EXTRACTION, SOURCE, ListedWiki, droid, list_of, named

from holocron_assets.entities.identity.policy import shipped_policy
from holocron_assets.entities.mentions.mentions import LONGEST_NAME, clean_name, said_names
from holocron_assets.entities.mentions.store import stale_mentions, store_mentions
from holocron_assets.entities.names.names import NameReader
from holocron_assets.entities.snapshot import open_snapshot
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables.identity import EXTRACTION as READ_TABLE
from holocron_assets.lake.titles import DEFAULT_SITE

pytestmark = pytest.mark.system

LIST = "List of droids"
TYPES = ("Droid", "PersonCharacter", "Species")
READER = NameReader(shipped_policy().words)


@pytest.fixture
def wiki(tmp_path: Path) -> ListedWiki:
    return ListedWiki(tmp_path)


def meant(wiki: ListedWiki, name: str) -> tuple[str, str]:
    """How a name was found out, and the title that it means."""
    return wiki.mentions()[name][1:]


def listed(wiki: ListedWiki, *items: str, names: tuple[str, ...], continuity: str = "can") -> None:
    wiki.crawl({LIST: list_of(*items, continuity=continuity)})
    wiki.read_lists({LIST: [named(name) for name in names]})


def test_the_table_that_is_read_is_one_that_an_interrogation_declares() -> None:
    assert EXTRACTION.name == READ_TABLE


def test_a_lake_without_an_extraction_has_no_mentions(tmp_path: Path) -> None:
    with open_snapshot(Lake(tmp_path)) as snapshot:
        assert (snapshot.mentions.rows, stale_mentions(snapshot, TYPES)) == ({}, [])


def test_a_name_means_the_page_that_the_list_links_to(wiki: ListedWiki) -> None:
    wiki.crawl({"Kettle (droid)": droid("Kettle"), "Kettle (probe)": droid("Kettle")})
    listed(wiki, "[[Kettle (droid)|Kettle]]", names=("Kettle",))
    assert meant(wiki, "Kettle") == ("link", "Kettle (droid)")


def test_a_name_means_a_page_that_is_linked_to_before_it_is_fetched(wiki: ListedWiki) -> None:
    listed(wiki, "[[Brass Tam (droid)|Brass Tam]]", names=("Brass Tam",))
    assert meant(wiki, "Brass Tam") == ("link", "Brass Tam (droid)")


def test_a_name_means_what_a_linked_redirect_leads_to(wiki: ListedWiki) -> None:
    wiki.crawl({"R5-K2": droid("R5-K2"), "Old Five": "#REDIRECT [[R5-K2]]"})
    listed(wiki, "[[Old Five]]", names=("Old Five",))
    assert meant(wiki, "Old Five") == ("link", "R5-K2")


def test_a_name_means_the_linked_page_that_has_a_redirect_of_the_name(wiki: ListedWiki) -> None:
    wiki.crawl({"R5-K2": droid("R5-K2"), "Old Five": "#REDIRECT [[R5-K2]]"})
    listed(wiki, "[[R5-K2|Old Five]]", names=("Old Five",))
    assert meant(wiki, "Old Five") == ("link", "R5-K2")


def test_what_a_list_writes_behind_a_link_belongs_to_the_name(wiki: ListedWiki) -> None:
    wiki.crawl({"Kettle": droid("Kettle")})
    listed(wiki, "[[Kettle]]s", names=("Kettles",))
    assert meant(wiki, "Kettles") == ("link", "Kettle")


def test_of_several_linked_pages_the_one_of_the_type_is_meant(wiki: ListedWiki) -> None:
    wiki.crawl({"Pell (droid)": droid("Pell"), "Pell (list)": list_of("nothing")})
    listed(wiki, "[[Pell (droid)]] and [[Pell (list)]]", names=("Pell",))
    assert meant(wiki, "Pell") == ("link", "Pell (droid)")


def test_of_several_linked_pages_of_the_type_none_is_meant(wiki: ListedWiki) -> None:
    wiki.crawl({"Pell (droid)": droid("Pell"), "Pell (probe)": droid("Pell")})
    listed(wiki, "[[Pell (droid)]] and [[Pell (probe)]]", names=("Pell",))
    assert meant(wiki, "Pell") == ("name", "Pell")


def test_a_redirect_of_another_name_makes_no_suffix_a_name(wiki: ListedWiki) -> None:
    wiki.crawl(
        {
            "Kettle": list_of("no droid"),
            "Kettle (droid)": droid("Kettle"),
            "Tin Pilot": "#REDIRECT [[Kettle (droid)]]",
        }
    )
    listed(wiki, "[[Kettle]] and [[Kettle (droid)]]", names=("Kettle",))
    assert "Kettle" not in wiki.mentions(), "the linked page of this very title is no entity"


def test_a_long_list_is_read_in_time_that_grows_with_its_length(wiki: ListedWiki) -> None:
    names = tuple(f"Aman {number:05} Bel" for number in range(4_000))
    listed(wiki, *(f"[[{name}]]" for name in names), names=names)
    with open_snapshot(wiki.lake) as snapshot:
        began = process_time()
        assert len(snapshot.mentions.rows["Droid"]) == len(names)
        assert process_time() - began < 6, "0.4 s; comparing each name with each link took 24 s"


@pytest.mark.parametrize("name", ["R5-K2", "r5-k2", "R5 K2", "“R5-K2”"])
def test_a_name_means_the_page_of_its_title_however_it_is_written(wiki: ListedWiki, name: str) -> None:
    wiki.crawl({"R5-K2": droid("R5-K2")})
    listed(wiki, names=(name,))
    assert meant(wiki, name) == ("title", "R5-K2")


def test_a_name_of_any_script_means_a_page_if_the_two_are_one_name(wiki: ListedWiki) -> None:
    titles = [
        *("Padmé", "Ёлка", "Ἀθήνα", "שָׁלוֹם", "مُحَمَّد", "राम"),
        *("தமிழ்", "กี", "ガンダム", "バス", "葛", "Café バス", "ශ්‍රී"),
    ]
    names = [
        *("Padme", "елка", "Αθηνα", "שלום", "محمد", "रोम", "राम!", "தமழ", "தமிழ்!", "กุ", "กี!"),
        *("ශ්රී", "カンタム", "カ\u3099ンダム", "パス", "「バス」", "葛\U000e0100", "Cafe バス", "Cafe パス"),
    ]
    keys = {READER.read(title).key: title for title in titles}
    wiki.crawl({title: droid(title) for title in titles})
    listed(wiki, names=tuple(names))
    found = {name: title if way == "title" else None for name, (_, way, title) in wiki.mentions().items()}
    assert found == {clean_name(name): keys.get(READER.read(name).key) for name in names}


def test_numbers_in_names_stay_apart(wiki: ListedWiki) -> None:
    wiki.crawl({"DUO-11 4": droid("DUO-11 4")})
    listed(wiki, names=("DUO-1 14",))
    assert meant(wiki, "DUO-1 14") == ("name", "DUO-1 14")


@pytest.mark.parametrize(("continuity", "title"), [("can", "Kettle"), ("leg", "Kettle/Legends")])
def test_the_lists_continuity_decides_between_a_canon_and_a_legends_page(
    wiki: ListedWiki, continuity: str, title: str
) -> None:
    wiki.crawl({"Kettle": droid("Kettle"), "Kettle/Legends": droid("Kettle", "leg")})
    listed(wiki, names=("Kettle",), continuity=continuity)
    assert meant(wiki, "Kettle") == ("title", title)


def test_a_list_of_no_known_continuity_means_the_page_of_the_very_title(wiki: ListedWiki) -> None:
    wiki.crawl({"Kettle": droid("Kettle"), "Kettle/Legends": droid("Kettle", "leg")})
    listed(wiki, names=("Kettle",), continuity="")
    assert meant(wiki, "Kettle") == ("title", "Kettle")


def test_the_page_of_the_other_continuity_is_never_meant(wiki: ListedWiki) -> None:
    wiki.crawl({"Kettle": droid("Kettle")})
    listed(wiki, names=("Kettle",), continuity="leg")
    assert (wiki.mentions(), wiki.kept_out()) == ({}, {"Droid": {"ambiguous": 1}})


def test_a_page_that_differs_only_by_a_suffix_is_meant_if_it_is_of_the_type(wiki: ListedWiki) -> None:
    wiki.crawl({"Kettle (droid)": droid("Kettle")})
    wiki.crawl({LIST: list_of()})
    wiki.read_lists({LIST: [named("Kettle"), named("kettle", "Species")]})
    assert wiki.mentions() == {
        "Kettle": ("Droid", "title", "Kettle (droid)"),
        "kettle": ("Species", "name", "Kettle"),
    }


def test_of_pages_that_differ_only_by_a_suffix_none_is_meant(wiki: ListedWiki) -> None:
    wiki.crawl({"Kettle (droid)": droid("Kettle"), "Kettle (probe)": droid("Kettle")})
    listed(wiki, names=("Kettle",))
    assert meant(wiki, "Kettle") == ("name", "Kettle")


def test_a_name_means_what_a_redirect_of_its_title_leads_to(wiki: ListedWiki) -> None:
    wiki.crawl(
        {
            "R5-K2": droid("R5-K2"),
            "Five": "#REDIRECT [[R5-K2]]",
            "Old Five": "#REDIRECT [[Five]]",
            "Round": "#REDIRECT [[About]]",
            "About": "#REDIRECT [[Round]]",
            "Gone": "#REDIRECT [[Not fetched]]",
            "Away": "#REDIRECT [[w:Droid]]",
        }
    )
    listed(wiki, names=("Five", "old five", "Round", "Gone", "Away"))
    assert wiki.mentions() == {
        "Five": ("Droid", "redirect", "R5-K2"),
        "old five": ("Droid", "redirect", "R5-K2"),
        "Gone": ("Droid", "redirect", "Not fetched"),
    }
    assert wiki.kept_out() == {"Droid": {"no_entity": 2}}


def test_what_is_no_entity_is_kept_out_and_counted(wiki: ListedWiki) -> None:
    wiki.crawl({"R5-K2": droid("R5-K2"), "Its arm": "#REDIRECT [[R5-K2#Arm]]", "Lists": list_of("[[X]]")})
    listed(wiki, "[[Lists]]", names=("Its arm", "Lists", "Category:Droids", "w:Droid", "?!"))
    assert wiki.mentions() == {}
    assert wiki.kept_out() == {"Droid": {"no_entity": 2, "no_title": 2}}


def test_a_pages_own_type_outranks_the_models(wiki: ListedWiki) -> None:
    wiki.crawl({"Kettle": droid("Kettle")})
    wiki.crawl({LIST: list_of("[[Kettle]]")})
    wiki.read_lists({LIST: [named("Kettle", "Species")]})
    assert wiki.mentions() == {"Kettle": ("Droid", "link", "Kettle")}


def test_a_name_without_page_has_the_one_type_that_most_lists_give_it(wiki: ListedWiki) -> None:
    wiki.crawl({title: list_of("[[Nobody]]") for title in ("List of a", "List of b", "List of c")})
    wiki.read_lists(
        {
            "List of a": [named("Nobody", "Species")],
            "List of b": [named("Nobody", "Species", supported=False)],
            "List of c": [named("Nobody", "Droid"), named("nobody", "Droid")],
        }
    )
    assert {name: found[0] for name, found in wiki.mentions().items()} == {
        "Nobody": "Droid",
        "nobody": "Droid",
    }


def test_a_name_that_no_page_can_have_is_kept_as_it_is(wiki: ListedWiki) -> None:
    listed(wiki, names=("c[4] unit", "droid #9", "lamp bearer"))
    assert {title for _, _, title in wiki.mentions().values()} == {"c[4] unit", "droid #9", "Lamp bearer"}


def test_a_list_that_is_gone_names_nothing(wiki: ListedWiki) -> None:
    listed(wiki, names=("Nobody",))
    wiki.crawl({LIST: "#REDIRECT [[R5-K2]]"})
    assert wiki.mentions() == {}


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        ("  R5-K2\n", "R5-K2"),
        ("* Kettle:", "Kettle"),
        ("Ket\u200btle\u202e", "Kettle"),
        ("Ket\x00\x1b[31mtle", "Ket [31mtle"),
        ("x" * 5_000, "x" * LONGEST_NAME),
        ("\u2066\u2069 \t", ""),
    ],
)
def test_names_are_data(written: str, clean: str) -> None:
    assert clean_name(written) == clean


def test_what_speaks_best_for_a_name_is_kept() -> None:
    said = {"source": SOURCE, "batch": "wiki-000001", "title": LIST, "title_key": title_key(SOURCE, LIST)}
    said |= {"revision_id": 1, "model": "small", "continuity": "canon", "type": "Droid", "name": "Kettle"}
    answers = [
        {**said, "chunk": 0, "position": 0, "supported": False, "evidence": "or X", "aliases": ["X"]},
        {
            **said,
            "chunk": 2,
            "position": 1,
            "supported": True,
            "evidence": "Kettle, or K",
            "aliases": ["Kettle", "K"],
        },
        {
            **said,
            "chunk": 1,
            "position": 5,
            "supported": True,
            "evidence": "Kettle",
            "aliases": ["\u200b", "Made up"],
        },
    ]
    names = said_names(answers, {SOURCE: DEFAULT_SITE})
    assert [(row["evidence"], row["chunk"], row["aliases"]) for row in names] == [("Kettle", 1, ["K"])]


def test_mentions_are_stale_only_when_they_would_be_others(wiki: ListedWiki) -> None:
    listed(wiki, "[[Kettle]]", names=("Kettle",))
    with open_snapshot(wiki.lake) as snapshot:
        assert stale_mentions(snapshot, TYPES) == ["Droid"]
        first, rows = store_mentions(snapshot, "Droid", "run-1")
    assert [(row["name"], row["means_title"], row["run_id"]) for row in rows] == [
        ("Kettle", "Kettle", "run-1")
    ]
    wiki.crawl({"R5-K2": droid("R5-K2")})
    with open_snapshot(wiki.lake) as snapshot:
        assert stale_mentions(snapshot, TYPES) == []
        assert store_mentions(snapshot, "Droid", "run-2")[0] == first


def test_mentions_follow_the_page_that_they_mean_into_its_type(wiki: ListedWiki) -> None:
    wiki.crawl({LIST: list_of("[[Kettle]]")})
    wiki.read_lists({LIST: [named("Kettle", "Species")]})
    with open_snapshot(wiki.lake) as snapshot:
        _, before = store_mentions(snapshot, "Species", "run-1")
    wiki.crawl({"Kettle": droid("Kettle")})
    with open_snapshot(wiki.lake) as snapshot:
        assert stale_mentions(snapshot, TYPES) == ["Droid", "Species"]
        after = [store_mentions(snapshot, name, "run-1")[1] for name in ("Species", "Droid")]
    assert [len(rows) for rows in after] == [0, 1]
    assert after[1][0]["mention_id"] == before[0]["mention_id"]
