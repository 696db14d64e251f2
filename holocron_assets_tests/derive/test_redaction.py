"""Secrets leave a text whole, and nothing else does."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holocron_assets.derive.evidence.payment_cards import passes_luhn
from holocron_assets.derive.evidence.redaction import Redactor

KEY_BODY = "MIIEvQIBADANBgkqhkiG9w0B\nAQEFAASC+/==\n"
PRIVATE_KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_BODY}-----END RSA PRIVATE KEY-----"

# Made up, and put together here, so that no scanner of repositories takes them for real ones
SECRETS = {
    "ann.solo+list@mail.example.com": "email",
    "padmé@naboo.example": "email",
    "+44 20 7946 0958": "phone",
    "+1 (212) 555-0123": "phone",
    "0049 30 1234567": "phone",
    "(212) 555-0123": "phone",
    "212-555-0123": "phone",
    "4111 1111 1111 1111": "card",
    "4111-1111-1111-1111": "card",
    "378282246310005": "card",
    "5555555555554444": "card",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl": "token",
    "AKIA" + "ABCDEFGHIJKLMNOP": "key",
    "ghp_" + "a1B2" * 9: "key",
    "glpat-" + "a1B2c3D4" * 3: "key",
    "xoxb-" + "1234567890-abcdef": "key",
    "AIza" + "a1B2c" * 7: "key",
    "sk_live_" + "a1B2c3D4" * 3: "key",
    "sk-" + "a1B2c3D4" * 5: "key",
    "123456789:" + "a1B2c" * 7: "key",
    PRIVATE_KEY: "key",
}
IN_CONTEXT = {
    "Authorization: Bearer abcdefghij": "abcdefghij",
    "authorization: Basic dXNlcjpwYXNz": "dXNlcjpwYXNz",
    "a bearer a1b2c3d4e5f6 came": "a1b2c3d4e5f6",
    "Basic dXNlcjpwYXNz": "dXNlcjpwYXNz",
    "https://ann:hunter2@example.com/x": "ann:hunter2",
    "postgres://holocron:s3cret@db:5432/x": "holocron:s3cret",
    'api_key = "abc123def456"': "abc123def456",
    "password: hunter22": "hunter22",
    "client-secret=9f8e7d6c5b": "9f8e7d6c5b",
    "call us at 7946 0958": "7946 0958",
    f"begins {PRIVATE_KEY[:60]}": KEY_BODY[:10],
}
KEPT = [
    "The battle was fought in 19 BBY, 3,653 years after the treaty of 3653 BBY.",
    "He lived 57 BBY-19 BBY and 1977-1983, and the film opened on 2005-05-19 at 20:30.",
    "Published 1999, ISBN 0-345-42882-9 and ISBN 978-0-345-42882-5.",
    "ISBN-13: 978 0 345 42882 5; ISSN 0317-8471",
    "Its years were 1977 1980 1983 1999 2002 2005 and 2002, 2005, 2008, 2015.",
    "The droid R2-D2 met TK-421 in docking bay 94, sector 1138, grid L-9.",
    "Coordinates 51.5074, -0.1278; population 1,000,000,000,000; +15 and -7 degrees.",
    "It cost 10,000 credits in 20201231235959 and 123456789012345678901234567890.",
    "Basic instructions for every bearer of responsibilities.",
    "Basic Understanding; Bearer Responsibility; the token Republic; BASIC INSTRUCTIONS.",
    "It speaks Basic StandardHutteseRhodeseTwi; see https://example.com/status/678275796058771456.",
    "Barcode 0050087445072, call 050506.",
    "The secret: everybody knows it. Password: swordfish.",
    "Mail me @ the cantina, @home, or a@b; see http://example.com:80/a@b and https://example.com/x:y.",
    "sk-8 droids, AKIA, eyJ, hf_short and -----BEGIN OF THE END-----",
    "Model 4111 1111 1111 1112 fails the check.",
]
TEXTS = st.lists(st.sampled_from([*SECRETS, *IN_CONTEXT, *KEPT, " ", "\n", ", ", "word", "[email 1]"])).map(
    " ".join
)


def redacted(text: str) -> str:
    return Redactor().redact(text)


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_becomes_a_placeholder_of_its_kind(secret: str) -> None:
    assert redacted(f"Write to {secret}, she said.") == f"Write to [{SECRETS[secret]} 1], she said."


@pytest.mark.parametrize("text", IN_CONTEXT)
def test_what_is_called_a_secret_is_one(text: str) -> None:
    assert IN_CONTEXT[text] not in redacted(text)
    assert "1]" in redacted(text)


@pytest.mark.parametrize("text", KEPT)
def test_what_an_encyclopedia_is_full_of_stays(text: str) -> None:
    assert redacted(text) == text


def test_the_same_secret_is_the_same_placeholder_in_all_texts() -> None:
    redactor = Redactor()
    assert redactor.redact("a@b.example and c@d.example") == "[email 1] and [email 2]"
    assert redactor.redact("c@d.example, 4111 1111 1111 1111") == "[email 2], [card 1]"
    assert redactor.redact("4111-1111-1111-1111") == "[card 1]"


def test_a_card_is_found_between_other_digits() -> None:
    assert redacted("In 2020 4111 1111 1111 1111 42 times") == "In 2020 [card 1] 42 times"


def test_a_redactor_shows_no_secret() -> None:
    redactor = Redactor()
    redactor.redact("a@b.example")
    assert "a@b" not in repr(redactor)


@given(TEXTS)
def test_no_secret_is_left_wherever_it_stands(text: str) -> None:
    result = redacted(text)
    assert [secret for secret in SECRETS if secret in result] == []


@given(TEXTS)
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redacted(text)
    assert redacted(once) == once


@given(st.text("abc 0123\n@.-"))
def test_a_text_keeps_its_words(text: str) -> None:
    words = [word for word in text.split() if word.isalpha()]
    assert [word for word in words if word not in redacted(text)] == []


@given(st.integers(10**11, 10**18 - 1))
def test_a_number_with_its_check_digit_passes_and_with_another_does_not(number: int) -> None:
    passing = [digit for digit in "0123456789" if passes_luhn(f"{number}{digit}")]
    assert len(passing) == 1


HOSTILE = [
    "a",
    "1",
    "1 ",
    "0 0",
    "4111 ",
    "+1",
    "(",
    "tel ",
    "a@",
    "a.",
    "a@b.",
    "eyJ",
    "http://a:",
    "Bearer ",
]


@pytest.mark.full
@pytest.mark.parametrize("piece", [*HOSTILE, "password=", "-----BEGIN PRIVATE KEY-----"])
def test_hostile_text_takes_time_in_step_with_its_length(piece: str) -> None:
    started = time.perf_counter()
    redacted(piece * (560_000 // len(piece)))
    assert time.perf_counter() - started < 10


@pytest.mark.full
def test_many_different_secrets_take_time_in_step_with_their_number() -> None:
    started = time.perf_counter()
    text = redacted(" ".join(f"a{number}@b.example" for number in range(40_000)))
    assert text.endswith("[email 40000]")
    assert time.perf_counter() - started < 10
