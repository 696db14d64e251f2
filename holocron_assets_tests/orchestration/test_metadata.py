"""What Dagster's web UI shows of a wiki's words is words: it draws metadata as Markdown."""

import pytest
from markdown_it import MarkdownIt

from holocron_assets.orchestration.assets.metadata import sample_list

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "![look](https://elsewhere.example/track.png)",
    "[here](javascript:alert(1))",
    "https://elsewhere.example/ and www.elsewhere.example",
    "&lt;script&gt; &#60;b&#62;",
    "a | b\n\n# heading\n---\n\n    code\n1. list",
    "`code` ~~gone~~ **bold** _leaning_ \\",
    "<https://elsewhere.example>",
]


@pytest.mark.fault(6, "titles that are Markdown or HTML, in Dagster's metadata")
@pytest.mark.parametrize("text", HOSTILE)
def test_a_title_is_shown_as_it_is_and_as_nothing_else(text: str) -> None:
    shown = sample_list([text, "next"]).value
    assert shown is not None
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(shown)
    inline = [child for token in tokens for child in token.children or []]
    assert {token.type for token in tokens} <= {
        f"{part}_{end}" for part in ("bullet_list", "list_item", "paragraph") for end in ("open", "close")
    } | {"inline"}
    assert {child.type for child in inline} <= {"text", "text_special"}
    assert "".join(child.content for child in inline) == " ".join(text.split()) + "next"
    assert "://" not in shown, "nor does the UI make a link of it by itself"
    assert "www." not in shown
