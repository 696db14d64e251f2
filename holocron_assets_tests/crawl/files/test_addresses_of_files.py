"""Addresses of files: their hosts and originals, and where redirects may lead."""

import pytest

from holocron_assets.crawl.files.transfers.addresses import (
    RedirectError,
    is_login,
    original,
    redirected,
)
from holocron_assets.crawl.sources.source import host_of

FANDOM = "https://static.wikia.nocookie.net/starwars/images/a/ab/Luke.png/revision/latest"
WIKIMEDIA = "https://upload.wikimedia.org/wikipedia/commons"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Example.org/a", "example.org:443"),
        ("http://example.org./a", "example.org:80"),
        ("http://example.org:8080/", "example.org:8080"),
        ("http://[2001:DB8::1]/", "[2001:db8::1]:80"),
    ],
)
def test_a_host_is_always_named_with_its_port(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        (f"{FANDOM}?cb=2020", f"{FANDOM}?cb=2020&format=original"),
        (f"{FANDOM}/scale-to-width-down/300?cb=1", f"{FANDOM}?cb=1&format=original"),
        (f"{FANDOM}?format=webp&cb=1", f"{FANDOM}?cb=1&format=original"),
        (f"{WIKIMEDIA}/thumb/a/ab/B.svg/120px-B.svg.png", f"{WIKIMEDIA}/a/ab/B.svg"),
        (f"{WIKIMEDIA}/a/ab/B.svg", f"{WIKIMEDIA}/a/ab/B.svg"),
        ("https://example.org/thumb/a/ab/B.svg/c", "https://example.org/thumb/a/ab/B.svg/c"),
    ],
)
def test_the_original_is_asked_for(url: str, asked: str) -> None:
    assert original(url) == asked


@pytest.mark.parametrize(
    ("url", "location", "target"),
    [
        ("https://a.example/b/c", "d", "https://a.example/b/d"),
        ("https://a.example/b", "//c.example/d", "https://c.example/d"),
        ("http://a.example/", "https://a.example/", "https://a.example/"),
        ("http://a.example/", "/b#part", "http://a.example/b"),
    ],
)
def test_a_redirect_leads_to_an_address(url: str, location: str, target: str) -> None:
    assert redirected(url, location) == target


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://a.example/", "redirect-downgrade"),
        ("ftp://a.example/", "redirect-unusable"),
        ("https://user:sesame@a.example/", "redirect-unusable"),
        ("https://a.example:0/", "redirect-unusable"),
        ("javascript:alert(1)", "redirect-unusable"),
        (f"https://{'a.' * 130}example/", "redirect-unusable"),
    ],
)
def test_a_redirect_that_leads_to_less_safety_is_not_followed(location: str, reason: str) -> None:
    with pytest.raises(RedirectError) as caught:
        redirected("https://b.example/", location)
    assert caught.value.reason == reason
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("url", ["/login", "/users/sign_in?next=a", "/sso/start", "/Account/LogIn"])
def test_a_login_is_known_by_its_address(url: str) -> None:
    assert is_login(f"https://a.example{url}")


def test_a_word_within_another_is_no_login() -> None:
    assert not is_login("https://a.example/authors/blogging.pdf")
