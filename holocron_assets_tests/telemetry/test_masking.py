"""What is a secret is masked wherever somebody repeats it; what is none is left as it is."""

import pytest

from holocron_assets.telemetry.masking import without_secrets

SECRETS = {
    "OLLAMA_API_KEY": "sk-abcdef",
    "HF_TOKEN": "hf_abcdef",
    "HOLOCRON_POSTGRES_URL": "postgresql://holocron:tide%2Fwater@127.0.0.1:5432/holocron",
    "my_secret": "sk-abcdef-and-more",
    "OTHER_PASSWORD": 'stone"\\hall',
    "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20salt-and-tar,tenant=north-quay",
    "EMPTY_TOKEN": "",
    "SHORT_KEY": "a",
    "HOME": "/home/someone",
    "ODD": "http://[::1@broken",
}


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Bearer sk-abcdef is unknown", "Bearer *** is unknown"),
        ("sk-abcdef-and-more", "***"),
        ("password tide%2Fwater (tide/water) is wrong", "password *** (***) is wrong"),
        ("cannot reach https://me:mine@example.org/x", "cannot reach https://***@example.org/x"),
        ("token hf_abcdef\nfor 'http://me@example.org'", "token ***\nfor 'http://***@example.org'"),
        (
            "a page in /home/someone, see https://example.org/@me",
            "a page in /home/someone, see https://example.org/@me",
        ),
        ("mail someone@example.org", "mail someone@example.org"),
        ('{"said": "stone\\"\\\\hall is wrong"}', '{"said": "*** is wrong"}'),
        ("said='stone\"\\\\hall'", "said='***'"),
        ("Bearer salt-and-tar of north-quay", "*** of ***"),
        ("refused: salt-and-tar", "refused: ***"),
    ],
)
def test_secrets_are_masked_and_nothing_else(said: str, shown: str) -> None:
    assert without_secrets(said, SECRETS) == shown
