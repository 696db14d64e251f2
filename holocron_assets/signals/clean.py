"""Turning wikitext into the text that a reader sees."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import mwparserfromhell
from mwparserfromhell import nodes
from mwparserfromhell.wikicode import Wikicode

from holocron_assets.lake.titles import CATEGORY_NAMESPACE, FILE_NAMESPACE, Site, decode_character_references
from holocron_assets.signals.hidden import FILLER, protected, unmasked
from holocron_assets.signals.outline import nesting, outline
from holocron_assets.signals.quotes import without_quotes
from holocron_assets.signals.vocabulary import (
    TextTemplates,
    leads_to_a_language,
    normalised_name,
    numbered,
    shown_date,
)

# mwparserfromhell's time grows with the square of unclosed markup; MediaWiki pages nest less than this
_DEEPEST_NESTING = 30
_LONGEST_PARSED = 40_000

_LINE_BREAK = re.compile(r"</?(?:br|li|p|div|tr|h[1-6]|dd|dt|hr)(?![a-z])[^<>]*+>", re.IGNORECASE)
_BOLD_TAG = re.compile(r"</?(?:b|strong)\s*+>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*+>")
_EXTERNAL_LINK = re.compile(r"\[(?:[a-z]{2,10}:)?//[^\s\[\]<>]++[ \t]*+([^\[\]\n]*+)\]", re.IGNORECASE)
_PAGE_NAME = re.compile(r"\{\{\s*+(?:FULL|BASE|SUB)?PAGENAME\s*+\}\}")
_BEHAVIOUR_SWITCH = re.compile(r"__[^\W\d_]{3,}+(?:_[^\W\d_]++)*+__")
_LINE_MARKER = re.compile(r"^(?:[*#:;]++|-{4,}+)[ \t]*+", re.MULTILINE)
_MARKERS = ("*", "#", ":", ";", "-")
_EMPTY_BRACKETS = re.compile(r"\(\s*+[,;]?\s*+\)|\[\s*+\]")
_BRACKET_START = re.compile(r"\(\s*+[,;]\s*+")
_SPACE_BEFORE_MARK = re.compile(r"[ \t]+([,.)])(?=[\s,.)]|$)")
# Of spaces that become one space. Single ones are left alone: they are most, and each match costs time.
_SPACES = re.compile(r"[ \t\u00a0\u2009\u202f]{2,}|[\t\u00a0\u2009\u202f]")
_SPACED_MARKS = (" ,", " .", " )")
# A link that every parser reads in the same way: nine links in ten, and the slowest part of parsing
_PLAIN_LINK = re.compile(r"\[\[([^\[\]{}|=<>\n]++)(?:\|([^\[\]{}|=<>]*+))?\]\]")
# A template with no bracket inside. Three braces are a parameter, which is the parser's.
_PLAIN_TEMPLATE = re.compile(r"(?<!\{)\{\{([^\[\]{}|]*+)(?:\|[^\[\]{}]*+)?\}\}(?!\})")
# A template, one of whose first two arguments begins with a name in bold: {{nihongo|'''Foo'''|...}}
_BOLD_NAME = re.compile(
    r"\{\{([^\[\]{}|\n]++)\|[ \t]*+(?:[\w-]++[ \t]*+\|[ \t]*+)?"
    r"('{3,5}(?!')(?:[^\[\]{}|'\n]|'(?!'')|\[\[[^\[\]{}\n]*+\]\])++'{3,5}[^\[\]{}|\n]*+)(?=\||\}\})"
)
_WIKILINK = re.compile(r"\[\[([^\[\]|]*+)(?:\|([^\[\]]*+))?\]\]")


def is_hostile(markup: str) -> bool:
    """Whether a piece of markup is too long or nested too deep for mwparserfromhell."""
    return len(markup) > _LONGEST_PARSED or nesting(markup) > _DEEPEST_NESTING


def parse(markup: str) -> Wikicode:
    """Parse a piece of markup that is not hostile; bold and italic marks stay text."""
    return mwparserfromhell.parse(markup, skip_style_tags=True)


def shows_bold_name(template: str) -> bool:
    """Whether a template shows a name in bold, with which a sentence may begin."""
    return _BOLD_NAME.match(template) is not None


def is_beside_text(target: str, site: Site, *, has_label: bool) -> bool:
    """Whether a link shows no words: one to a file, a category, or the page in another language.

    Args:
        target: what the link leads to, as it is written.
        site: the wiki that the link is on.
        has_label: whether words of its own follow the target.
    """
    prefix, colon, _ = target.partition(":")
    if not colon or not prefix:
        return False
    return site.namespace_number(prefix) in (FILE_NAMESPACE, CATEGORY_NAMESPACE) or leads_to_a_language(
        target, site, has_label=has_label
    )


def _without_line_markers(text: str) -> str:
    """The text without the marks of list items and rulers at the starts of its lines."""
    return _LINE_MARKER.sub("", text) if "\n" in text or text.startswith(_MARKERS) else text


def _as_shown(text: str) -> str:
    """Masked text as a reader sees it, to be read as a number."""
    return unmasked(decode_character_references(text))


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Turns pieces of one page's masked wikitext into clean text.

    Attributes:
        site: the wiki that the page is on.
        words: templates that stand for a text.
        page_name: the text of `{{PAGENAME}}`.
        problems: takes a message for each part that had to be read without mwparserfromhell.
    """

    site: Site
    words: TextTemplates
    page_name: str
    problems: list[str] = field(default_factory=list)

    def prose(self, markup: str) -> str:
        """One paragraph as one line of clean text."""
        return " ".join(self._lines(self._text(self._with_bold_name(markup))))

    def value(self, parsed: Wikicode) -> str:
        """An infobox value as clean text; `; ` separates list items and lines."""
        return self.field(self._flat(parsed))

    def bounded(self, markup: str) -> str:
        """Clean text without mwparserfromhell, for hostile markup: templates are dropped."""
        return self.field(self._without_blocks(self.prepared(markup)))

    def prepared(self, markup: str) -> str:
        """Masked markup with everything replaced that needs no parser: tags, list markers, plain links."""
        text = markup
        if "PAGENAME" in text:
            text = _PAGE_NAME.sub(lambda _: self.page_name, text)
        if "<" in text:
            text = _TAG.sub("", _BOLD_TAG.sub("'''", _LINE_BREAK.sub("\n", text)))
            # the remaining '<' start no tag, but mwparserfromhell can take minutes to find that out
            text = protected(text, "<")
        text = _EXTERNAL_LINK.sub(r"\1", text) if "//" in text else text
        text = _PLAIN_LINK.sub(self._plain_link, text) if "[[" in text else text
        text = _BEHAVIOUR_SWITCH.sub("", text) if "__" in text else text
        return _without_line_markers(text)

    def _with_bold_name(self, markup: str) -> str:
        """The markup with the name in bold for a template at its start that the vocabulary does not know."""
        name = _BOLD_NAME.match(markup)
        if name is None or self._shows_text(name[1]):
            return markup
        first = next(iter(outline(markup).blocks), None)
        return name[2] + markup[first.end :] if first and first.start == 0 else markup

    def _plain_link(self, match: re.Match[str]) -> str:
        return self._link_text(match[1], match[2])

    def _plain_template(self, match: re.Match[str]) -> str:
        return match[0] if self._shows_text(match[1]) else ""

    def inner_template(self, match: re.Match[str]) -> str:
        """The text of a template with no bracket inside, by a match whose first group is its name."""
        return self._flat(parse(match[0])) if self._shows_text(match[1]) else ""

    def _shows_text(self, template: str) -> bool:
        return self.words.shows_text(normalised_name(template))

    def _text(self, markup: str) -> str:
        text = self.prepared(markup)
        if "{{" in text:  # those that show no text are most of what is left, and need no parser
            text = _PLAIN_TEMPLATE.sub(self._plain_template, text)
        if "{{" not in text and "[[" not in text:
            return text
        if not is_hostile(text):
            return self._flat(parse(text))
        self.problems.append(f"{text[:30]!r}... is too large or nested too deep to be parsed")
        return self._without_blocks(text)

    def field(self, text: str) -> str:
        """An infobox value without templates and links, as clean text."""
        # A list may begin behind the sign of equality. The mark of a single line is part of it: "# 1"
        trimmed = text.strip(f" \t\n{FILLER}")
        return "; ".join(self._lines(trimmed if "\n" in trimmed else text))

    def _lines(self, text: str) -> list[str]:
        text = _without_line_markers(without_quotes(text))
        text = unmasked(decode_character_references(text))
        text = _EMPTY_BRACKETS.sub("", text) if "(" in text or "[" in text else text
        if "  " in text or "\t" in text or not text.isascii():
            text = _SPACES.sub(" ", text)
        text = _BRACKET_START.sub("(", text) if "(" in text else text
        if any(mark in text for mark in _SPACED_MARKS):
            text = _SPACE_BEFORE_MARK.sub(r"\1", text)
        return [line for line in map(str.strip, text.split("\n")) if line]

    def _without_blocks(self, text: str) -> str:
        pieces = []
        position = 0
        for block in outline(text).blocks:
            pieces.append(text[position : block.start])
            if block.kind == "link":
                pieces.append(self._bounded_link(text[block.start : block.end]))
            position = block.end
        return "".join(pieces) + text[position:]

    def _bounded_link(self, markup: str) -> str:
        match = _WIKILINK.fullmatch(markup)
        return self._link_text(match[1], match[2]) if match else ""

    def _flat(self, parsed: Wikicode) -> str:
        return "".join(map(self._node_text, parsed.nodes))

    def _node_text(self, node: nodes.Node) -> str:
        match node:
            case nodes.Text() | nodes.HTMLEntity():
                text = str(node)
            case nodes.Wikilink():
                text = self._link_text(str(node.title), None if node.text is None else self._flat(node.text))
            case nodes.Template():
                text = self._template_text(node)
            case nodes.Tag():
                text = self._tag_text(node)
            case nodes.ExternalLink():
                text = str(node) if node.title is None else self._flat(node.title)
            case _:
                text = ""
        return text

    def _tag_text(self, node: nodes.Tag) -> str:
        return "" if node.wiki_markup or node.contents is None else self._flat(node.contents)

    def _link_text(self, target: str, shown: str | None) -> str:
        if is_beside_text(target, self.site, has_label=shown is not None):
            return ""
        return shown or target.strip().removeprefix(":")

    def _template_text(self, node: nodes.Template) -> str:
        name = normalised_name(str(node.name))
        if self.words.is_function(name):
            return self._flat(node.name).partition(":")[2].strip()
        text = self.words.text_templates.get(name)
        if text is not None:
            return text
        named = {str(param.name).strip(): param.value for param in node.params}
        positional = map(self._flat, numbered(named.items()))
        if name in self.words.date_templates:
            return shown_date(map(_as_shown, positional))
        if self.words.shows_measure(name):
            given = {key: _as_shown(self._flat(value)) for key, value in named.items()}
            return self.words.measure(name, given)
        return self._shown_argument(name, node, positional)

    def _shown_argument(self, name: str, node: nodes.Template, positional: Iterable[str]) -> str:
        argument = self.words.argument_templates.get(name)
        if argument == "*":
            return "\n".join(positional)
        if argument is None:
            return ""
        shown = self._flat(node.get(argument).value) if node.has(argument) else ""
        return self.words.prefixes.get(name, "") + shown
