"""Source files changed by commands: only what was asked for, and whole or not at all."""

from pathlib import Path

import pytest

from holocron_assets.crawl.dumps.export import DumpError
from holocron_assets.crawl.sources.files import (
    SourceError,
    load_source,
    set_enabled,
    write_dump_source,
)

WIKI = """\
# A wiki, described with care.
name:   wiki   # its name
enabled:    false    # not yet

kind: "mediawiki_api"
address: 'https://wiki.example.org/api.php'
seeds: {titles: [Endor,
                 Hoth], all_pages: false}
politeness:
    contact: someone@example.org
# the end"""

EXPORT = """\
<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
<siteinfo><sitename>Small</sitename><namespaces>
<namespace key="-1" case="first-letter">Special</namespace><namespace key="0" case="first-letter"/>
<namespace key="110" case="first-letter">Forum</namespace><namespace key="14">Category</namespace>
</namespaces></siteinfo>
</mediawiki>
"""


def saved(folder: Path, text: str, name: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_enabling_changes_one_word_and_nothing_else(tmp_path: Path, newline: str, start: str) -> None:
    text = start + WIKI.replace("\n", newline)
    path = saved(tmp_path, text, "wiki.yaml")
    path.chmod(0o640)
    set_enabled(tmp_path, "wiki", enabled=True)
    assert path.read_bytes().decode() == text.replace("enabled:    false ", "enabled:    true ")
    assert load_source(path).enabled
    set_enabled(tmp_path, "wiki", enabled=False)
    assert path.read_bytes().decode() == text
    assert path.stat().st_mode & 0o777 == 0o640
    assert [file.name for file in tmp_path.iterdir()] == ["wiki.yaml"]


def test_enabling_what_is_enabled_changes_nothing(tmp_path: Path) -> None:
    path = saved(tmp_path, WIKI, "wiki.yaml")
    set_enabled(tmp_path, "wiki", enabled=False)
    assert path.read_bytes().decode() == WIKI


def test_a_linked_source_file_stays_a_link(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    path = saved(kept, WIKI, "another-name.yaml")
    link = tmp_path / "wiki.yaml"
    link.symlink_to(path)
    set_enabled(tmp_path, "wiki", enabled=True)
    assert link.is_symlink()
    assert load_source(link).enabled


def test_a_value_written_as_an_alias_is_left_for_a_person(tmp_path: Path) -> None:
    text = WIKI.replace("enabled:    false    # not yet\n", "").replace(
        "all_pages: false}", "all_pages: &no false}\nenabled: *no"
    )
    path = saved(tmp_path, text, "wiki.yaml")
    with pytest.raises(SourceError, match=r"wiki\.yaml, line 7, key 'enabled': cannot be replaced here"):
        set_enabled(tmp_path, "wiki", enabled=True)
    assert path.read_bytes().decode() == text


def test_a_source_that_is_not_there_or_broken_is_not_enabled(tmp_path: Path) -> None:
    path = saved(tmp_path, WIKI.replace("kind", "kin"), "wiki.yaml")
    with pytest.raises(SourceError, match="key 'kin'"):
        set_enabled(tmp_path, "wiki", enabled=True)
    assert "false" in path.read_text()
    with pytest.raises(SourceError, match=r"there is no such source file$"):
        set_enabled(tmp_path, "other", enabled=True)
    with pytest.raises(SourceError, match="there is no such source file; did you mean 'wiki'"):
        set_enabled(tmp_path, "wikki", enabled=True)


@pytest.mark.parametrize("name", ["../wiki", "a/b", "", "Wiki", "wiki-2", "a" * 41, "wiki\n", "\0"])
def test_a_name_that_could_leave_the_folder_or_break_partition_names_is_refused(
    tmp_path: Path, name: str
) -> None:
    dump = saved(tmp_path, EXPORT, "pages.xml")
    with pytest.raises(SourceError, match="is no source name: it must start with a small letter"):
        set_enabled(tmp_path, name, enabled=True)
    with pytest.raises(SourceError, match="is no source name: it must start with a small letter"):
        write_dump_source(tmp_path / "sources", name, dump)
    assert not (tmp_path / "sources").exists()


def test_an_export_becomes_a_source_with_all_its_namespaces(tmp_path: Path) -> None:
    dump = saved(tmp_path, EXPORT, "it's # an export.xml")
    path = write_dump_source(tmp_path / "new" / "sources", "small", dump)
    assert path == tmp_path / "new" / "sources" / "small.yaml"
    source = load_source(path)
    assert (source.name, source.kind, source.enabled) == ("small", "mediawiki_dump", True)
    assert source.origin == str(dump)
    assert source.namespaces == (0, 14, 110)
    set_enabled(path.parent, "small", enabled=False)
    assert not load_source(path).enabled


def test_a_source_that_exists_is_not_written_over(tmp_path: Path) -> None:
    dump = saved(tmp_path, EXPORT, "pages.xml")
    path = saved(tmp_path, WIKI, "wiki.yaml")
    with pytest.raises(SourceError, match="is there already"):
        write_dump_source(tmp_path, "wiki", dump)
    assert path.read_bytes().decode() == WIKI


def test_what_is_no_export_becomes_no_source(tmp_path: Path) -> None:
    page = saved(tmp_path, "<html></html>", "pages.xml")
    with pytest.raises(DumpError, match="is no MediaWiki XML export"):
        write_dump_source(tmp_path / "sources", "small", page)
    with pytest.raises(DumpError, match="No such file"):
        write_dump_source(tmp_path / "sources", "small", tmp_path / "nowhere.xml")
    assert not (tmp_path / "sources").exists()
