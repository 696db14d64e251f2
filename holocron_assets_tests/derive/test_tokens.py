import pytest

from holocron_assets.derive.items.tokens import estimate_tokens

# Counted with the tokenizer of Qwen2.5-Coder, which is that of most small models of its time.
COUNTED = [
    ("Varn is a planet of the Outer Drift that was settled by sailors. " * 20, 321),
    ("| 12 || 34 || 5.6 || x\n" * 40, 640),
    ('{"a":1,"b":[2,3],"c":"d"}' * 30, 450),
    ("银河帝国是一个虚构的国家。" * 20, 140),
    ("", 0),
]


@pytest.mark.parametrize(("text", "tokens"), COUNTED, ids=["prose", "table", "json", "chinese", "nothing"])
def test_an_estimate_is_rather_too_high_but_not_by_much(text: str, tokens: int) -> None:
    assert tokens <= estimate_tokens(text) <= tokens * 1.9 + 1
