"""Types of files, by how their bytes begin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.crawl.files.transfers.kinds import disagrees, is_expected, is_html, type_of

WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8 "


@pytest.mark.parametrize(
    ("head", "mime"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (WEBP, "image/webp"),
        (b"%PDF-1.7", "application/pdf"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b\x08", "application/gzip"),
        (b"\0\0\0\x20ftypisom" + bytes(20), "video/mp4"),
        (b"<!DOCTYPE html>", "text/html"),
        (b"\xef\xbb\xbf\n <!-- a page -->\n<HTML>", "text/html"),
        (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg">', "image/svg+xml"),
        (b"plain words", None),
        (b"", None),
    ],
)
def test_a_type_is_known_by_the_first_bytes(head: bytes, mime: str | None) -> None:
    assert type_of(head) == mime


def test_of_several_possible_types_the_stated_one_counts() -> None:
    assert type_of(b"OggS") == "application/ogg"
    assert type_of(b"OggS", ["audio/ogg"]) == "audio/ogg"
    assert type_of(b"OggS", ["image/png"]) == "application/ogg"


def test_bytes_disagree_only_with_another_unmistakable_type() -> None:
    assert disagrees("image/webp", "image/png")
    assert disagrees("text/html", "application/pdf")
    assert not disagrees("application/ogg", "audio/ogg")
    assert not disagrees(None, "image/png")
    assert not disagrees("image/png", None)
    assert not disagrees("application/zip", "application/epub+zip")


def test_a_source_may_expect_types_and_kinds_of_types() -> None:
    assert is_expected("image/png", ())
    assert is_expected("image/png", ("image/*",))
    assert is_expected("application/ogg", ("audio/ogg",))
    assert not is_expected("text/html", ("image/*", "application/pdf"))
    assert not is_expected(None, ("image/*",))


def test_a_page_of_many_comments_is_read_at_once() -> None:
    assert not is_html(b"<!---->" * 580)
    assert is_html(b"<!-- a --> " * 300 + b"<html>")


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reading_of_types(head: bytes) -> None:
    assert type_of(head) is None or isinstance(type_of(head), str)
    assert isinstance(is_html(head), bool)
