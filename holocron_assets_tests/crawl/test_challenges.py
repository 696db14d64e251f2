"""Captchas and other walls are known by what they say of themselves, and pages about captchas are none."""

import pytest
from fake_mediawiki import CAPTCHA, LOGIN_PAGE

from holocron_assets.crawl.http.outcomes import is_challenge

HTML = {"content-type": "text/html; charset=utf-8"}


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (HTML, CAPTCHA.encode()),
        (HTML, b"<script src='https://challenges.cloudflare.com/turnstile/v0/api.js'></script>"),
        (HTML, b"<div class='G-RECAPTCHA'></div>"),
        (HTML, b"<title>Making sure you&#39;re not a bot!</title>"),
        ({"cf-mitigated": "challenge"}, b""),
        ({"x-amzn-waf-action": "captcha"}, b""),
        ({"x-amzn-waf-action": "Challenge", "content-type": "text/plain"}, b""),
    ],
)
def test_pages_that_demand_proof_of_a_person_are_recognised(headers: dict[str, str], body: bytes) -> None:
    assert is_challenge(headers, body)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (HTML, LOGIN_PAGE.encode()),
        (HTML, b"<title>403 Forbidden</title>"),
        (HTML, b"\xff" * 1000),
        ({"content-type": "text/plain"}, CAPTCHA.encode()),
        ({"cf-mitigated": "block"}, b""),
        ({}, b""),
        (HTML, b" " * 100_000 + CAPTCHA.encode()),
    ],
)
def test_other_answers_are_none(headers: dict[str, str], body: bytes) -> None:
    assert not is_challenge(headers, body)
