"""Source files: what a good one says, and what is said of a bad one."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from holocron_assets.crawl.sources.files import (
    SourceError,
    load_file_source,
    load_source,
    read_sources,
)
from holocron_assets.crawl.sources.settings import Politeness, QuietHours
from holocron_assets.crawl.sources.source import Seeds, Source

SHIPPED = Path(__file__).parents[2] / "data" / "sources"

WIKI = """\
name: wiki
enabled: true
kind: mediawiki_api
address: https://wiki.example.org/w/api.php
seeds:
  all_pages: true
politeness:
  contact: someone@example.org
"""

DUMP = """\
name: dump
enabled: true
kind: mediawiki_dump
address: pages.xml
"""


def saved(folder: Path, text: str, name: str = "wiki.yaml") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def problems(folder: Path, text: str, name: str = "wiki.yaml") -> dict[str, tuple[int, str]]:
    """Line and text of every problem of a source file, by key."""
    with pytest.raises(SourceError) as caught:
        load_source(saved(folder, text, name))
    assert all(str(folder / name) in line for line in str(caught.value).splitlines())
    return {problem.key: (problem.line, problem.text) for problem in caught.value.problems}


def test_the_shipped_sources_are_valid_and_crawl_no_public_wiki_by_themselves() -> None:
    sources, errors = read_sources(SHIPPED)
    assert errors == []
    assert sources["sample"].enabled
    assert sources["sample"].origin == str(SHIPPED.parent / "sample" / "wiki.xml")
    wookieepedia = sources["wookieepedia"]
    assert not wookieepedia.enabled
    assert wookieepedia.host == "starwars.fandom.com:443"
    assert wookieepedia.seeds.all_pages
    assert wookieepedia.politeness.requests_per_second <= 1
    assert all(not source.enabled for source in sources.values() if source.kind == "mediawiki_api")


def test_what_a_file_leaves_out_is_polite_and_narrow(tmp_path: Path) -> None:
    source = load_source(saved(tmp_path, WIKI))
    assert source.namespaces == (0,)
    assert source.depth == 0
    assert source.batch_size == 500
    assert source.links_from == "wikitext"
    assert source.politeness == Politeness(contact="someone@example.org")
    assert (source.politeness.requests_per_second, source.politeness.requests_in_flight) == (1, 1)
    assert (source.politeness.maxlag, source.politeness.timeout_seconds) == (5, 60)


def test_every_key_is_read(tmp_path: Path) -> None:
    text = WIKI.replace("  all_pages: true", "  titles: [Endor, '1138']\n  categories: [Droids]") + (
        "  requests_per_second: 2.5\n  requests_in_flight: 3\n  maxlag: 0\n  timeout_seconds: 5\n"
        "namespaces: [0, 14]\ndepth: 2\nbatch_size: 50\nlinks_from: api\n"
        "include: ['^E']\nexclude: ['/Gallery$']\n"
        "expected: {min_pages: 10, min_by_type: {Droid: 1}, max_unknown_rate: 0.25}\n"
    )
    source = load_source(saved(tmp_path, text))
    assert source.seeds == Seeds(titles=("Endor", "1138"), categories=("Droids",))
    assert (source.namespaces, source.depth, source.batch_size) == ((0, 14), 2, 50)
    assert (source.include, source.exclude, source.links_from) == (("^E",), ("/Gallery$",), "api")
    assert source.politeness.requests_per_second == 2.5
    assert source.expected.min_pages == 10
    assert source.expected.min_by_type == {"Droid": 1}
    assert source.expected.max_unknown_rate == 0.25


def test_a_sitemap_is_an_address_of_http_or_https(tmp_path: Path) -> None:
    text = """\
name: papers
enabled: true
kind: http_files
lists:
  - sitemap: https://example.org/sitemap.xml
politeness: {contact: someone@example.org}
"""
    path = saved(tmp_path, text, "papers.yaml")
    assert load_file_source(path).origin == "https://example.org/sitemap.xml"
    saved(tmp_path, text.replace("https://", ""), "papers.yaml")
    with pytest.raises(
        SourceError, match=r"'example\.org/sitemap\.xml' is no http or https address"
    ) as caught:
        load_file_source(path)
    assert [(problem.key, problem.line) for problem in caught.value.problems] == [("lists[0].sitemap", 5)]


@pytest.mark.parametrize("depth", ["unlimited", "null", "~"])
def test_depth_can_be_without_end(tmp_path: Path, depth: str) -> None:
    assert load_source(saved(tmp_path, f"{WIKI}depth: {depth}\n")).depth is None


def test_a_dump_is_found_from_its_files_folder_and_read_whole(tmp_path: Path) -> None:
    source = load_source(saved(tmp_path, DUMP.replace("pages.xml", "../x/pages.xml"), "dump.yaml"))
    assert source.origin == str(tmp_path.parent / "x" / "pages.xml")
    assert source.host is None
    assert source.seeds.all_pages
    absolute = load_source(saved(tmp_path, DUMP.replace("pages.xml", "/y/pages.xml.bz2"), "dump.yaml"))
    assert absolute.origin == "/y/pages.xml.bz2"


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://Wiki.Example.org/api.php", "wiki.example.org:443"),
        ("http://127.0.0.1:8090/api.php", "127.0.0.1:8090"),
        ("http://[::1]/api.php", "[::1]:80"),
    ],
)
def test_the_host_has_its_port_always(tmp_path: Path, address: str, host: str) -> None:
    text = WIKI.replace("https://wiki.example.org/w/api.php", address)
    source = load_source(saved(tmp_path, text))
    assert source.host == host
    assert source.origin == address


def test_everything_that_is_wrong_with_a_file_is_reported_at_once(tmp_path: Path) -> None:
    text = """\
name: other
enabled: yes
kind: mediawiki_api
adress: https://wiki.example.org/api.php
namespaces: [0, articles]
batch_size: 501
include: ["("]
politeness:
  contact: someone@example.org
  maxlg: 3
expected:
  min_by_type:
    Droid: -1
    'bad name': 1
"""
    found = problems(tmp_path, text)
    assert {key: line for key, (line, _) in found.items()} == {
        "address": 1,
        "name": 1,
        "enabled": 2,
        "adress": 4,
        "namespaces[1]": 5,
        "batch_size": 6,
        "include[0]": 7,
        "politeness.maxlg": 10,
        "seeds": 1,
        "expected.min_by_type.Droid": 13,
        "expected.min_by_type.bad name": 14,
    }
    assert "must be 'wiki', as the file is called" in found["name"][1]
    assert "must be true or false, not 'yes'" in found["enabled"][1]
    assert "did you mean 'address'?" in found["adress"][1]
    assert "did you mean 'maxlag'?" in found["politeness.maxlg"][1]
    assert "must be a whole number, not 'articles'" in found["namespaces[1]"][1]
    assert "less than or equal to 500" in found["batch_size"][1]
    assert "missing )" in found["include[0]"][1]
    assert "must have a title, a category, or all_pages: true" in found["seeds"][1]


@pytest.mark.parametrize(
    ("change", "key", "said"),
    [
        (("mediawiki_api", "mediawki_api"), "kind", "did you mean 'mediawiki_api'?"),
        (("https://wiki.example.org/w/api.php", "wiki.example.org"), "address", "must be a URL such as"),
        (("https://wiki.", "ftp://wiki."), "address", "must be a URL such as"),
        (("wiki.example.org/w", "wiki.example.org:99999/w"), "address", "must be a URL such as"),
        (("https://", "https://user:secret@"), "address", "without user"),
        (("api.php", "api.php?x=1"), "address", "without user, query or fragment"),
        (("  all_pages: true", "  titles: [1138]"), "seeds.titles[0]", "in quotes"),
        (("  all_pages: true", "  titles: ['']"), "seeds.titles[0]", "not empty"),
        (("  all_pages: true", "  titles: Endor"), "seeds.titles", "must be a list, not 'Endor'"),
        (("  all_pages: true", "  all_pages: false"), "seeds", "must have a title"),
        (("someone@example.org", "me"), "politeness.contact", "must be an e-mail address or a web address"),
        (("someone@example.org", '"a@b.c\\r\\nX: y"'), "politeness.contact", "plain ASCII"),
        (("contact: someone@example.org", "maxlag: 5"), "politeness", "needs a contact"),
        (("name: wiki", "name: Wiki"), "name", "must start with a small letter"),
        (("enabled: true", "depth: deep\nenabled: true"), "depth", "'unlimited' is without end"),
        (("enabled: true", "depth: -1\nenabled: true"), "depth", "greater than or equal to 0"),
        (("enabled: true", "namespaces: []\nenabled: true"), "namespaces", "at least one"),
        (("enabled: true", "namespaces: [0, 0]\nenabled: true"), "namespaces", "each once"),
        (("enabled: true", "namespaces: [true]\nenabled: true"), "namespaces[0]", "must be a whole number"),
        (("enabled: true", "exclude: ['(?=x)']\nenabled: true"), "exclude[0]", "as RE2 reads it"),
        (("enabled: true", "expected: 3\nenabled: true"), "expected", "must be a mapping of keys, not 3"),
        (("enabled: true\n", ""), "enabled", "is missing: whether it is crawled"),
        (
            ("enabled: true", "private_hosts: localhost\nenabled: true"),
            "private_hosts",
            "a list of hosts on this machine or in private networks",
        ),
        *[
            (
                ("enabled: true", f"private_hosts: ['{wrong}']\nenabled: true"),
                "private_hosts[0]",
                "such as localhost or 10.1.2.3, without a port",
            )
            for wrong in (
                "",
                "localhost:80",
                "http://localhost",
                "a/b",
                "u@localhost",
                "two words",
                "[::1]:80",
            )
        ],
        (("  contact", "  burst: 0\n  contact"), "politeness.burst", "greater than or equal to 1"),
        (("  contact", "  requests_per_day: 0\n  contact"), "politeness.requests_per_day", "greater than"),
        (("  contact", "  slow_seconds: 0\n  contact"), "politeness.slow_seconds", "greater than 0"),
        (("  contact", "  obey_robots: 'no'\n  contact"), "politeness.obey_robots", "must be true or false"),
        (("  contact", "  timezone: Mars/X\n  contact"), "politeness.timezone", "such as Europe/Berlin"),
        (("  contact", "  timezone: Europe\n  contact"), "politeness.timezone", "such as Europe/Berlin"),
        (("  contact", "  quiet_hours: night\n  contact"), "politeness.quiet_hours", "start and end"),
        (
            ("  contact", "  quiet_hours: {start: '8:00', end: '18:00'}\n  contact"),
            "politeness.quiet_hours.start",
            "must be a time of day such as 08:00",
        ),
        (
            ("  contact", "  quiet_hours: {start: '08:00', end: '08:00'}\n  contact"),
            "politeness.quiet_hours.end",
            "must differ from start",
        ),
        (
            ("  contact", "  quiet_hours: {from: '08:00', start: '01:00', end: '08:00'}\n  contact"),
            "politeness.quiet_hours.from",
            "allowed are start, end",
        ),
        (
            ("  contact", "  quiet_hours: {start: '08:00'}\n  contact"),
            "politeness.quiet_hours.end",
            "is missing: time of day from which it is asked again",
        ),
        (
            ("  contact", "  requests_per_second: .inf\n  contact"),
            "politeness.requests_per_second",
            "finite number",
        ),
        (
            ("  contact", "  requests_per_second: 0\n  contact"),
            "politeness.requests_per_second",
            "greater than 0",
        ),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(
    tmp_path: Path, change: tuple[str, str], key: str, said: str
) -> None:
    assert change[0] in WIKI
    found = problems(tmp_path, WIKI.replace(*change, 1))
    assert set(found) == {key}
    assert said in found[key][1]


def test_private_hosts_are_as_an_address_has_them_in_any_case(tmp_path: Path) -> None:
    path = tmp_path / "wiki.yaml"
    path.write_text(WIKI + "private_hosts: [LocalHost, 10.1.2.3, '[::1]', 'fd00::1', münchen.lan]\n")
    hosts = load_source(path).private_hosts
    assert hosts == ("localhost", "10.1.2.3", "::1", "fd00::1", "münchen.lan")


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("seeds: {titles: [Endor]}", "seeds"),
        ("seeds: {all_pages: false}", "seeds"),
        ("depth: 1", "depth"),
        ("depth: unlimited", "depth"),
        ("links_from: api", "links_from"),
        ("private_hosts: [localhost]", "private_hosts"),
        ("address: https://wiki.example.org/pages.xml", "address"),
    ],
)
def test_what_only_a_wiki_can_do_is_refused_of_a_dump(tmp_path: Path, line: str, key: str) -> None:
    text = DUMP.replace("address: pages.xml\n", "") if key == "address" else DUMP
    assert set(problems(tmp_path, f"{text}{line}\n", "dump.yaml")) == {key}


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "is empty"),
        ("# only a comment\n", 1, "is empty"),
        ("- name\n", 1, "is not a mapping"),
        ("name: [wiki\n", 2, "is not valid YAML"),
        ("name: wiki\n\tkind: x\n", 2, "is not valid YAML"),
        ("name: wiki\nname: wiki\n", 2, 'duplicate key "name"'),
        ("politeness:\n  maxlag: 1\n  maxlag: 2\n", 3, 'duplicate key "maxlag"'),
        ("name: wiki\n---\nname: wiki\n", 2, "another document"),
        ("name: !python/object:os.system wiki\n", 1, "tag"),
        ("name: wiki\nkind: *missing\n", 2, "alias"),
        ("name: wiki\nkind: \x01\n", 2, "character"),
        ("name: 2020-99-99\n", 0, "is not valid YAML"),
        ("name: " + "[" * 1500, 0, "nested too deeply"),
    ],
)
def test_a_file_that_is_no_yaml_mapping_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, said: str
) -> None:
    found = problems(tmp_path, text)
    assert found[""][0] == line
    assert said in found[""][1]


def test_a_file_that_is_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "wiki.yaml"
    path.write_bytes(b"name: wiki\n# caf\xe9\n")
    with pytest.raises(SourceError, match=r"wiki\.yaml, line 2: is not UTF-8"):
        load_source(path)


def test_a_character_that_yaml_forbids_is_named_with_its_line(tmp_path: Path) -> None:
    path = saved(tmp_path, "# Вукипедия\n# Энциклопедия\nname: wi\x07ki\nkind: mediawiki_api\n\n\n")
    with pytest.raises(SourceError, match=r"line 3: .*is not allowed"):
        load_source(path)


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(tmp_path: Path) -> None:
    text = "\ufeff" + WIKI.replace("\n", "\r\n")
    assert load_source(saved(tmp_path, text)) == load_source(saved(tmp_path, WIKI))


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "wiki.yaml").mkdir()
    with pytest.raises(SourceError, match="cannot be read: Is a directory"):
        load_source(tmp_path / "wiki.yaml")
    with pytest.raises(SourceError, match="there is no such source file"):
        load_source(tmp_path / "other.yaml")
    with pytest.raises(SourceError, match="the sources folder cannot be read"):
        read_sources(tmp_path / "nowhere")


def test_a_dump_behind_links_that_lead_to_themselves_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "loop.xml").symlink_to(tmp_path / "loop.xml")
    saved(tmp_path, WIKI)
    saved(tmp_path, DUMP.replace("pages.xml", "loop.xml"), "dump.yaml")
    sources, errors = read_sources(tmp_path)
    assert sorted(sources) == ["dump", "wiki"]
    assert not errors


def test_a_value_that_holds_itself_is_an_error_and_no_endless_loop(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, f"{WIKI}expected: &self\n  min_by_type: *self\n").values()
    assert problem[1].endswith("holds itself")


def test_a_broken_file_does_not_stop_the_others(tmp_path: Path) -> None:
    saved(tmp_path, WIKI)
    saved(tmp_path, DUMP, "dump.yaml")
    saved(tmp_path, WIKI, "copy.yaml")
    saved(tmp_path, WIKI, "forgotten.yml")
    saved(tmp_path, "not read", "notes.txt")
    saved(tmp_path, "not read", ".wiki.yaml.swp")
    sources, errors = read_sources(tmp_path)
    assert list(sources) == ["dump", "wiki"]
    assert [error.path.name for error in errors] == ["copy.yaml", "forgotten.yml"]
    assert "must be 'copy', as the file is called" in str(errors[0])
    assert "must be called forgotten.yaml" in str(errors[1])


def test_an_empty_folder_has_no_sources(tmp_path: Path) -> None:
    assert read_sources(tmp_path) == ({}, [])


def test_quiet_hours_and_a_days_limit_are_read_without_quotes(tmp_path: Path) -> None:
    said = "  requests_per_day: 20000\n  quiet_hours: {start: 22:30, end: 06:00}\n  timezone: Asia/Tokyo\n"
    politeness = load_source(saved(tmp_path, WIKI.replace("  contact", f"{said}  contact"))).politeness
    assert (politeness.requests_per_day, politeness.timezone) == (20_000, "Asia/Tokyo")
    assert politeness.quiet_hours == QuietHours(start="22:30", end="06:00")
    assert politeness.obey_robots


def test_a_source_cannot_be_changed_by_accident(tmp_path: Path) -> None:
    source = load_source(saved(tmp_path, WIKI))
    with pytest.raises(ValidationError, match="frozen"):
        source.enabled = False


@given(st.from_regex(r"[a-z][a-z0-9_]{0,39}", fullmatch=True))
def test_every_name_within_the_rules_can_be_one(name: str) -> None:
    assert Source(kind="mediawiki_dump", name=name, enabled=True, address="x.xml").name == name


@given(st.text(max_size=60))
@example("a" * 41)
@example("wiki\n")
@example("../wiki")
@example("wiki-2")
def test_no_other_name_can_be_one(name: str) -> None:
    allowed = set("abcdefghijklmnopqrstuvwxyz0123456789_")
    if 0 < len(name) <= 40 and set(name) <= allowed and name[0].isalpha():
        return
    with pytest.raises(ValidationError):
        Source(kind="mediawiki_dump", name=name, enabled=True, address="x.xml")


@given(st.text(max_size=200))
@example("name: &a [*a]\n")
@example("? {a: b}\n: c")
def test_whatever_a_file_holds_the_answer_is_a_source_or_one_source_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.mktemp("any") / "wiki.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(SourceError, match=r"wiki\.yaml"):
        load_source(path)
