"""XML exports that are cut off, broken, hostile or none: what can be read is, and the rest is named."""

import bz2
import gzip
import os
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from dump_pages import list_pages, read_pages
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.crawl.dumps.export import DumpError, DumpPage, read_site

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

START = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">\n'
END = "</mediawiki>\n"


def page_xml(number: int) -> str:
    return (
        f"<page><title>Page {number}</title><ns>0</ns><id>{number + 1}</id><revision><id>{number + 100}</id>"
        f"<timestamp>2022-05-24T00:00:00Z</timestamp><text>text of page {number}</text></revision></page>\n"
    )


def saved(folder: Path, content: str | bytes, name: str = "wiki.xml") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def collected_until_error(path: Path) -> tuple[list[str], DumpError]:
    """Titles of the pages before the break, and the error."""
    titles: list[str] = []
    try:
        titles.extend(page.title for page in read_pages(path))
    except DumpError as error:
        return titles, error
    pytest.fail("nothing was wrong")


def only_page(folder: Path, page: str) -> DumpPage:
    (found,) = read_pages(saved(folder, f"{START}{page}{END}"))
    return found


def plain(content: bytes) -> bytes:
    return content


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("wiki.xml", plain),
        ("wiki.xml.gz", gzip.compress),
        ("wiki.xml.bz2", bz2.compress),
        ("wiki.xml.zst", zstd.compress),
    ],
)
def test_a_truncated_file_gives_its_whole_pages_and_then_names_the_last(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    # random ids do not compress, so that a packed file has pages before its cut
    pages = [page_xml(number).replace("text of", os.urandom(600).hex()) for number in range(3_000)]
    packed = pack((START + "".join(pages) + END).encode())
    path = saved(tmp_path, packed[: len(packed) * 2 // 3], name)
    titles, error = collected_until_error(path)
    assert 1_500 < len(titles) < 2_100
    assert titles == [f"Page {number}" for number in range(len(titles))]
    assert (error.pages_read, error.last_title) == (len(titles), titles[-1])
    assert "ends too soon" in str(error)
    assert str(path) in str(error)
    assert f"{len(titles)} pages were read, the last is {titles[-1]!r}" in str(error)


@pytest.mark.parametrize("end", ["", "<page>", "<page><title>Page 3", "</mediawi"])
def test_wherever_a_file_ends_no_page_before_is_lost(tmp_path: Path, end: str) -> None:
    titles, error = collected_until_error(saved(tmp_path, START + "".join(map(page_xml, range(3))) + end))
    assert titles == ["Page 0", "Page 1", "Page 2"]
    assert "ends too soon" in str(error)


def test_a_file_cut_within_a_letter_is_named_as_cut(tmp_path: Path) -> None:
    content = f"{START}{page_xml(0)}<page><title>Caf\u00e9".encode()[:-1]
    titles, error = collected_until_error(saved(tmp_path, content))
    assert titles == ["Page 0"]
    assert "wiki.xml" in str(error)


def test_malformed_xml_is_named_with_its_byte_after_the_pages_before_it(tmp_path: Path) -> None:
    text = START + page_xml(0) + page_xml(1) + "<page><title>A & B</title></page>\n" + page_xml(3) + END
    titles, error = collected_until_error(saved(tmp_path, text))
    assert titles == ["Page 0", "Page 1"]
    assert "is not valid XML" in str(error)
    assert f"at byte {text.index('& B') + 1}" in str(error)
    assert "2 pages were read, the last is 'Page 1'" in str(error)


def test_what_follows_the_end_is_named_after_all_pages(tmp_path: Path) -> None:
    titles, error = collected_until_error(saved(tmp_path, START + page_xml(0) + END + START + END))
    assert titles == ["Page 0"]
    assert "is not valid XML" in str(error)


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    titles, error = collected_until_error(saved(tmp_path, START.encode() + b"<page><title>Caf\xe9</title>"))
    assert titles == []
    assert "wiki.xml" in str(error)


@pytest.mark.fault(6, "an export with an entity bomb")
def test_an_entity_bomb_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    bomb = '<!ENTITY a "aaaaaaaaaa">' + "".join(
        f'<!ENTITY {name} "{f"&{previous};" * 10}">'
        for previous, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    for root in ("<mediawiki>&i;", '<mediawiki x="&i;">'):
        path = saved(tmp_path, f"<?xml version='1.0'?>\n<!-- x --><!DOCTYPE mediawiki [{bomb}]>{root}{END}")
        for read in (lambda path=path: list(read_pages(path)), lambda path=path: read_site(path, "wiki")):
            with pytest.raises(DumpError, match="declares a DOCTYPE"):
                read()


@pytest.mark.fault(6, "an export with an external entity")
def test_no_file_is_read_for_an_entity(tmp_path: Path) -> None:
    secret = saved(tmp_path, "secret", "secret.txt")
    text = f'<!DOCTYPE mediawiki [<!ENTITY x SYSTEM "file://{secret}">]>{START}{page_xml(0)}{END}'
    with pytest.raises(DumpError, match="declares a DOCTYPE"):
        list(read_pages(saved(tmp_path, text.replace("text of", "&x;"))))


@pytest.mark.fault(6, "a DOCTYPE hidden behind another encoding")
def test_a_doctype_cannot_hide_behind_another_encoding(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE mediawiki [<!ENTITY x "y">]><mediawiki/>'
    with pytest.raises(DumpError, match="is no MediaWiki XML export"):
        list(read_pages(saved(tmp_path, text.encode("utf-16"))))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"  \n\n", "is empty"),
        (b"<!-- nothing -->", "is no MediaWiki XML export"),
        (b"<html><body>Log in</body></html>", "it starts with '<html>"),
        (b"<mediawikis></mediawikis>", "is no MediaWiki XML export"),
        (b"{'json': 1}", "is no MediaWiki XML export"),
        (b"\x00\x01\x02\xff", "is no MediaWiki XML export"),
        (b"\x1f\x8b\x08\x00", "is no MediaWiki XML export"),
        (b"<!--" + b" " * 2_000_000, "is no MediaWiki XML export"),
        (b"<!DOCTYPE html><html></html>", "declares a DOCTYPE"),
    ],
)
def test_what_is_no_export_is_said_to_be_none(tmp_path: Path, content: bytes, said: str) -> None:
    path = saved(tmp_path, content)
    with pytest.raises(DumpError) as caught:
        list(read_pages(path))
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    with pytest.raises(DumpError):
        read_site(path, "wiki")
    with pytest.raises(DumpError):
        list(list_pages(path))


@pytest.mark.parametrize("name", ["wiki.xml.gz", "wiki.xml.bz2", "wiki.xml.zst"])
@pytest.mark.parametrize(
    "content", [b"<mediawiki></mediawiki>", b"", b"\x1f\x8b\x08", b"BZh9", b"\x28\xb5\x2f\xfd\x00"]
)
def test_a_file_that_is_not_packed_as_it_is_called_is_named(
    tmp_path: Path, name: str, content: bytes
) -> None:
    with pytest.raises(DumpError, match=name):
        list(read_pages(saved(tmp_path, content, name)))


@pytest.mark.fault(6, "a packed export with damaged bytes")
def test_a_packed_file_with_damaged_bytes_is_named(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress((START + "".join(map(page_xml, range(3_000))) + END).encode()))
    packed[len(packed) // 2] ^= 0xFF
    _, error = collected_until_error(saved(tmp_path, bytes(packed), "wiki.xml.gz"))
    assert "wiki.xml.gz" in str(error)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_with_damaged_bytes_is_named(tmp_path: Path, method: int) -> None:
    path = tmp_path / "wiki.zip"
    with zipfile.ZipFile(path, "w", method) as packed:
        packed.writestr("wiki.xml", START + "".join(map(page_xml, range(3_000))) + END)
    damaged = bytearray(path.read_bytes())
    for place in range(200, 220):
        damaged[place] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(DumpError, match=r"wiki\.zip"):
        list(read_pages(path))


@pytest.mark.parametrize("suffix", [".7z", ".rar", ".xz"])
def test_other_packings_say_what_to_do(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(DumpError, match="unpack it, or pack it as"):
        list(read_pages(saved(tmp_path, b"x", f"wiki.xml{suffix}")))


def test_a_window_too_large_for_our_memory_says_how_to_unpack(tmp_path: Path) -> None:
    long_window = {int(zstd.CompressionParameter.window_log): 28}
    packer = zstd.ZstdCompressor(options=long_window)
    packed = packer.compress((START + "".join(map(page_xml, range(3))) + END).encode()) + packer.flush()
    with pytest.raises(DumpError, match="zstd -d --long=31"):
        list(read_pages(saved(tmp_path, packed, "wiki.xml.zst")))


def test_a_file_that_is_missing_or_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match=r"nowhere\.xml: cannot be read: No such file"):
        list(read_pages(tmp_path / "nowhere.xml"))
    with pytest.raises(DumpError, match="cannot be read: Is a directory"):
        read_site(tmp_path, "wiki")


@pytest.mark.parametrize(
    ("page", "status", "said"),
    [
        ("<page><ns>0</ns><revision><text>t</text></revision></page>", "invalid", "has no <title>"),
        ("<page><title/><revision><text>t</text></revision></page>", "invalid", "has no <title>"),
        ("<page><title>A|B</title><revision><text>t</text></revision></page>", "invalid", "not a page title"),
        ("<page><title>../A</title><revision><text>t</text></revision></page>", "invalid", "'..'"),
        ("<page><title>A</title><ns>x</ns><revision><text>t</text></revision></page>", "invalid", "<ns>"),
        ("<page><title>A</title><ns>0</ns></page>", "dead", "has no <revision>"),
        ('<page><title>A</title><revision><text deleted="deleted"/></revision></page>', "dead", "deleted"),
        ('<page><title>A</title><revision><text bytes="9" id="1"/></revision></page>', "dead", "stub dump"),
        ("<page><title>A</title><revision><id>1</id></revision></page>", "dead", "stub dump"),
        ("<page>stray</page>", "invalid", "has no <title>"),
    ],
)
def test_a_broken_page_is_a_page_with_an_error(tmp_path: Path, page: str, status: str, said: str) -> None:
    path = saved(tmp_path, START + page_xml(0) + page + page_xml(2) + END)
    before, broken, after = read_pages(path)
    assert (before.title, after.title) == ("Page 0", "Page 2")
    assert (broken.ordinal, broken.status) == (1, status)
    assert said in (broken.error or "")
    assert broken.title
    assert broken.text == ("t" if "<text>t" in page else None)


def test_comments_and_stray_elements_inside_a_text_lose_no_text(tmp_path: Path) -> None:
    page = only_page(
        tmp_path,
        "<page><title>A</title><revision><text>one<!-- x --> two<?x y?><![CDATA[ <three>]]><b> four</b>"
        "</text></revision></page>",
    )
    assert page.text == "one two <three> four"


@pytest.mark.fault(6, "an export of thousands of nested elements")
def test_thousands_of_nested_elements_end_no_run(tmp_path: Path) -> None:
    nested = "<x>" * 200 + "deep" + "</x>" * 200
    page = only_page(tmp_path, f"<page><title>A</title>{nested}<revision><text>t</text></revision></page>")
    assert (page.title, page.text, page.status) == ("A", "t", "ok")
    assert "deep" in str(page.elements)
    hopeless = "<x>" * 100_000
    titles, error = collected_until_error(saved(tmp_path, START + page_xml(0) + f"<page>{hopeless}" + END))
    assert titles == ["Page 0"]
    assert "wiki.xml" in str(error)


@given(st.data())
def test_a_file_cut_anywhere_yields_pages_in_order_or_one_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = (START + "".join(map(page_xml, range(4))) + END).encode()
    cut = data.draw(st.integers(0, len(whole.rstrip()) - 1))
    titles, error = collected_until_error(saved(tmp_path_factory.mktemp("any"), whole[:cut]))
    assert len(titles) == whole[:cut].count(b"</page>")
    assert titles == [f"Page {number}" for number in range(len(titles))]
    assert error.pages_read == len(titles)


@given(st.data())
def test_a_file_with_any_byte_changed_yields_pages_or_one_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray((START + "".join(map(page_xml, range(4))) + END).encode())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    ordinals: list[int] = []
    with suppress(DumpError):
        ordinals.extend(
            page.ordinal for page in read_pages(saved(tmp_path_factory.mktemp("any"), bytes(content)))
        )
    assert ordinals == list(range(len(ordinals)))
