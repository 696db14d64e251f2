"""Makes rows of table `page_facts` from the values of an infobox, by the rules."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, groupby
from math import isfinite
from typing import Any, NamedTuple, Protocol

from holocron_assets.entities.facts.date_patterns import date_patterns
from holocron_assets.entities.facts.dates import DateSpan, find_dates, is_date, is_time
from holocron_assets.entities.facts.rules import FieldRule, InfoboxRule, RuleBook
from holocron_assets.entities.facts.stated_keys import load_keys
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.languages.language import Language, Values, load_language

_COPIED = ("source", "batch", "title", "title_key", "revision_id")
_AROUND = " \t,;:.\u2013\u2014-"
# A quote or a multiplication sign may also begin what is counted: 5 "Banshee" bombers.
_MARK_GOES_ON = r"\s*(?:['\u2019\u2032\"\u2033](?![^\W\d])|\u00d7\s*\d|\^)"
# With a decimal comma, a space may mark thousands. Counts stand before names too: "2 8-cm-Kanonen".
_FIGURE_GOES_ON = {
    ".": re.compile(_MARK_GOES_ON),
    ",": re.compile(rf"(?<=\s)(?:\d{{3}}\b|\d+/\d)|{_MARK_GOES_ON}"),
}
_SPACE = r"[ \u00a0\u2009\u202f]"
_DASH = r"[\u2013\u2014-]"
# "14 standard-years", and no span of numbers
_HYPHEN = r"(?<=[^\W\d_])-(?=[^\W\d_])"
_ABOUT = r"[~\u2248<>\u2264\u2265]"
# What makes "2 1/2" and "2\u00bd" no whole number
_FRACTION = r"(?:\d+/\d|[\u00bc-\u00be\u2150-\u215e])"
_NOT_FIGURES = re.compile(r"[^\d.-]")
_FIGURES = re.compile(r"[\d\s,.#\u2013\u2014-]+")
_POINTED_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(?:\.\d{3})+$")
_TITLE_SUFFIXES = re.compile(r"(?:/Legends|\s*\([^()]*\))+$")
_WORDS_OF_A_LENGTH = 4
_LONGEST_VALUE = 500
_LONGEST_EVIDENCE = 1_000


class _Words(NamedTuple):
    """How values are written in a language, as patterns; `languages/language.py` explains the words."""

    number: re.Pattern[str]
    span_goes_on: re.Pattern[str]
    parts_go_on: re.Pattern[str]
    dash: re.Pattern[str]
    joiner: re.Pattern[str]
    before_place: re.Pattern[str]
    before_date: re.Pattern[str]
    year_begins: re.Pattern[str]
    when: re.Pattern[str]
    rest_of_date: re.Pattern[str]
    amount: re.Pattern[str]
    no_place: re.Pattern[str]


@cache
def _words(code: str) -> _Words:
    """The patterns of a language, compiled once a process."""
    language = load_language(code)
    words, ordinals = language.values, _any(language.dates.ordinals)
    to, scales, about = _any(words.to), _any(words.scales), rf"(?:(?:{_any(words.about)}|{_ABOUT})\s*)?"
    to_figure = rf"(?:{to})\b\s*{about}\d"
    # "2 meters to 3 meters" is a span, and "2 years prior to 19 BBY" is none
    one_word = rf"(?:[^\s\d,;\u2013\u2014-]|{_HYPHEN}){{0,39}}(?=\s+{to_figure})"
    unit = rf"(?!{to_figure})[^\W\d](?:{one_word}|(?:[^\d,;\u2013\u2014-]|{_HYPHEN}){{0,39}})"
    parts = "|".join(
        rf"(?:{whole})\.?,?\s*(?:(?:{_any(words.span)})\s+)?\d{{1,2}}(?:[.,]\d+)?\s*(?:(?:{part})(?!\w)|$)"
        for whole, part in words.parts.items()
    )
    before_figures = (*map(re.escape, chain.from_iterable(language.dates.months)), *language.dates.between)
    return _Words(
        number=re.compile(
            rf"{about}((?>{_figures(words)}))(?![\d.,]|:\d|\s*(?:{_DASH}|(?:{to})\b|/|{_FRACTION}))"
            # "175cm", but not "212th", "12k", "1,000s" or "74Z"
            rf"\s*({scales})?(?:\b|(?<=\d)(?!(?:{ordinals}|k|s)\b)(?=(?-i:[^\W\d_A-Z])))\s*(%|{unit})?",
            re.IGNORECASE,
        ),
        span_goes_on=re.compile(rf"\s*(?:{_DASH}\s*{about}\d|{to_figure})", re.IGNORECASE),
        parts_go_on=re.compile(rf"\s*(?:{parts or '(?!)'})", re.IGNORECASE),
        dash=re.compile(rf"\s*(?:\u2013|\u2014|-|\b(?:{_any(words.span)})\b)\s*", re.IGNORECASE),
        joiner=re.compile(
            rf"\s*/\s*|\s+(?:&|{_DASH}|{_any(map(re.escape, language.grammar.conjunctions))})\s+",
            re.IGNORECASE,
        ),
        before_place=re.compile(rf"(?:(?:{_any(words.before_place)})\b[\s,]*)+", re.IGNORECASE),
        before_date=re.compile(
            rf"(?<!\w)(?:{_any(words.year)})\s*$|(?:^|(?<=,))\s*{_length(language)}\s*$", re.IGNORECASE
        ),
        year_begins=re.compile(rf"\s*(?:{_any(words.year)})(?!\w)", re.IGNORECASE),
        when=re.compile(_when(language, date_patterns(code).eras), re.IGNORECASE),
        rest_of_date=re.compile(rf"\b(?:{_any(before_figures)})\.?\s*\d", re.IGNORECASE),
        # "6 moons", "at least two": a number of things, and not which ones
        amount=re.compile(
            rf"(?:{_any(words.counts_about)})?\s*(?:[\d,.]+|{_any(words.counts)})(?:\s+\w+)?", re.IGNORECASE
        ),
        no_place=re.compile(_any(words.no_place), re.IGNORECASE),
    )


def _when(language: Language, eras: Iterable[str]) -> str:
    """What begins a text that says when, and not where: "during the", "a year after the", "sometime BBY"."""
    roughly = rf"(?:{_any(language.values.roughly)})\b"
    how_long = rf"(?:{roughly}|{_length(language)})"
    events = _any((*language.dates.before_event, *language.dates.after_event))
    return (
        rf"(?:{how_long}\s+)?(?:(?P<during>{_any(language.values.during)})|{events})\b"
        rf"|{how_long}\s+(?:{_any(map(re.escape, eras))})\s*(?:,|$)|{roughly}\s*(?:,|$)"
    )


def _length(language: Language) -> str:
    """A length of time: "more than six hundred years"."""
    return rf"(?:[^\s,;]+\s+){{0,{_WORDS_OF_A_LENGTH}}}?(?:{_any(language.dates.units)})\b"


def _figures(words: Values) -> str:
    """A number in figures.

    In English, a count may stand before a name that begins with figures: "2 204 sublight engines". So a space
    marks thousands in "5 000 light years", in "1 234 567 of them", and where at most one word follows.
    """
    if words.decimal == ",":
        return rf"-?[1-9]\d{{0,2}}(?:(?:\.|{_SPACE})\d{{3}})+(?!\d)(?:,\d+)?|-?\d+(?:[.,]\d+)?"
    group = rf"{_SPACE}\d{{3}}"
    last = rf"(?:\.\d+)?\s*(?:%|[^\W\d]\S*)?\s*(?:$|(?:{_DASH}|/|\u00d7|(?:{_any(words.to)})\b)\s*\d)"
    spaced = rf"(?:{group})*{_SPACE}000|(?:{group}){{2,}}|{group}(?={last})"
    return (
        rf"-?[1-9]\d{{0,2}}(?:{spaced})(?!\w|-[^\W\d])(?:\.\d+)?"
        r"|-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?"
    )


def _any(patterns: Iterable[str]) -> str:
    return "|".join(patterns) or "(?!)"


class _Link(Protocol):
    @property
    def text(self) -> str: ...
    @property
    def title(self) -> str: ...


class Value(Protocol):
    """One value of an infobox field, as package `signals` reads it."""

    @property
    def field(self) -> str: ...  # noqa: D102 - signals.infobox_values explains attributes
    @property
    def text(self) -> str: ...  # noqa: D102 - the same
    @property
    def whole(self) -> str: ...  # noqa: D102 - the same
    @property
    def qualifier(self) -> str | None: ...  # noqa: D102 - the same
    @property
    def links(self) -> Sequence[_Link]: ...  # noqa: D102 - the same
    @property
    def work(self) -> str | None: ...  # noqa: D102 - the same
    @property
    def start(self) -> int: ...  # noqa: D102 - the same
    @property
    def end(self) -> int: ...  # noqa: D102 - the same


class _Stated(NamedTuple):
    """One statement of a value, with further columns of its row."""

    value: str
    more: Mapping[str, Any]


def page_fact_rows(page: Row, template: str, values: Iterable[Value], rules: RuleBook) -> list[Row]:
    """Rows of table `page_facts` for a page.

    Args:
        page: its source, batch, title, title key and revision.
        template: name of its infobox's template.
        values: the values of its infobox, in page order.
        rules: the rules of its source.
    """
    rows = (
        row
        for field, of_field in groupby(values, key=lambda value: value.field)
        for row in _field_rows(page, list(of_field), rules.of(template, field), rules)
    )
    return [{**row, "position": position} for position, row in enumerate(rows)]


def _field_rows(
    page: Row, values: Sequence[Value], of_field: Sequence[FieldRule], rules: RuleBook
) -> Iterator[Row]:
    """The rows of a field's values. A name that is broken over several of them is one."""
    if len(values) > 1 and (broken := _broken_title(page["title"], values)):
        names = [rule for rule in of_field if rule.rule.kind == "name"]
        of_field = [rule for rule in of_field if rule.rule.kind != "name"]
        yield from (_name_row(page, values, rule, broken, rules.language) for rule in names)
    for value in values:
        for rule in _for_value(value.text, of_field):
            for stated in _stated(value, rule.rule, rules):
                yield _row(page, value, rule, stated, rules.language)


def _for_value(text: str, of_field: Sequence[FieldRule]) -> Sequence[FieldRule]:
    """The rules for a value; those that name it go before those for any."""
    named = [one for one in of_field if one.rule.values and one.rule.values.fullmatch(text.lower())]
    return named or [one for one in of_field if one.rule.values is None]


def _broken_title(title: str, values: Sequence[Value]) -> str | None:
    """The page's title without its suffixes, if the values together are its letters and digits."""
    name = _TITLE_SUFFIXES.sub("", title)
    letters = "".join(filter(str.isalnum, name)).casefold()
    said = "".join(char for value in values for char in value.text if char.isalnum()).casefold()
    return name if letters and letters == said else None


def _name_row(page: Row, values: Sequence[Value], rule: FieldRule, name: str, language: str) -> Row:
    """The row of a name that several values are the parts of."""
    qualifiers = "; ".join(value.qualifier for value in values if value.qualifier)
    return {
        **_row(page, values[0], rule, _Stated(name, {}), language),
        "qualifier": qualifiers[:_LONGEST_VALUE] or None,
        "evidence": " ".join(value.whole for value in values)[:_LONGEST_EVIDENCE],
        "evidence_end": values[-1].end,
    }


def _row(page: Row, value: Value, rule: FieldRule, stated: _Stated, language: str) -> Row:
    return {
        **{name: page[name] for name in _COPIED},
        "kind": rule.rule.kind,
        "key": rule.rule.key,
        "is_single": rule.rule.single,
        "field": value.field,
        "value": stated.value[:_LONGEST_VALUE],
        "qualifier": value.qualifier[:_LONGEST_VALUE] if value.qualifier else None,
        **stated.more,
        "work": value.work,
        "evidence": value.whole[:_LONGEST_EVIDENCE],
        "evidence_start": value.start,
        "evidence_end": value.end,
        "supported": True,
        "rule_id": rule.rule_id,
        "confidence": rule.confidence,
        **(
            _target(page["source"], value, rule.rule, stated.value, language)
            if rule.rule.kind == "relation"
            else {}
        ),
    }


def _stated(value: Value, rule: InfoboxRule, rules: RuleBook) -> Iterator[_Stated]:
    """The statements that a rule makes of a value: one, one for each date, or none."""
    if rule.reads == "date":
        dates = find_dates(value.text, rules.language)
        yield from (_Stated(found.written, _date(found)) for found in dates)
        return
    language = rules.language
    text = _place(value, rule.key, language) if rule.reads == "besides_date" else value.text
    if rule.reads == "besides_date" and (
        is_time(value.text, language) or _is_no_place(text, value, language)
    ):
        return
    is_other = rule.link == "only" and not _is_one_link(value, language)
    if is_other or _says_nothing(text, language) or _is_placeholder(value, rules):
        return
    more = _number(text, rule.unit, language) if rule.reads == "number" else {}
    for said in _ends(value, rule, text, language) if rule.kind == "relation" else [text]:
        yield _Stated(said, {**more, **_period(value.qualifier, rules)})


def _ends(value: Value, rule: InfoboxRule, text: str, language: str) -> list[str]:
    """The other ends that a text names: what each link shows, if the value is nothing but joined links."""
    names = _joined_links(value, language) if rule.reads == "text" else []
    return [name for name in names or [text] if not _names_nobody(name, rule.key, value.links, language)]


def _joined_links(value: Value, language: str) -> list[str]:
    """What the links of a value show, if only signs such as " - " and words for "and" are between them."""
    end, joiner = 0, _words(language).joiner
    for link in value.links:
        match = joiner.match(value.text, end) if end else None
        start = match.end() if match else end
        if (end and not match) or not value.text.startswith(link.text, start):
            return []
        end = start + len(link.text)
    return list(dict.fromkeys(link.text for link in value.links)) if end == len(value.text) else []


def _names_nobody(text: str, key: str, links: Sequence[_Link], language: str) -> bool:
    """Whether the other end of a relation is only an amount, a span of figures, or a date."""
    if not links and _words(language).amount.fullmatch(text):
        return True
    is_no_name = is_date(text, language) or (not links and _FIGURES.fullmatch(text) is not None)
    return is_no_name and "TimePeriod" not in _to_types(key)


def _to_types(key: str) -> Sequence[str]:
    """The types that a relation may lead to, if the vocabulary says it."""
    known = load_keys().get(("relation", key))
    return known.to_types if known else ()


def _is_one_link(value: Value, language: str) -> bool:
    """Whether a value is one link, but for words such as "the" before it."""
    return [link.text for link in value.links] == [_from_its_name(value.text, language)]


def _says_nothing(text: str, language: str) -> bool:
    """Whether a text is a word that stands for nothing, or only signs: a dash in any language."""
    return text.lower() in load_language(language).values.nothing or not any(map(str.isalnum, text))


def _is_placeholder(value: Value, rules: RuleBook) -> bool:
    """Whether a value is only a word that stands for nothing by the rules; a link names something."""
    return not value.links and value.whole.lower() in rules.nothing


def _date(found: DateSpan) -> dict[str, Any]:
    return {"calendar": found.calendar, "date_from": found.since, "date_to": found.until}


def _number(text: str, unit: str | None, language: str) -> dict[str, Any]:
    """A text as a number with its unit; nothing if it is a span of numbers, or words come first.

    Nor if it is only the first part of a figure, as in 5'11", 6 ft 2 in and 30 000 to 40 000.
    """
    words, values = _words(language), load_language(language).values
    match = words.number.match(text)
    if match is None or words.span_goes_on.match(text, match.end()):
        return {}
    if words.parts_go_on.match(text, match.end(1)):
        return {}
    if match[3] is None and _FIGURE_GOES_ON[values.decimal].match(text, match.end()):
        return {}
    number = _figure(match[1], values.decimal) * values.scales.get((match[2] or "").lower(), 1)
    # so many figures are no number that a table can have
    return {"number": number, "unit": (match[3] or "").strip() or unit} if isfinite(number) else {}


def _figure(written: str, decimal: str) -> float:
    """A number as written. Where a comma marks decimals, a point before three digits marks thousands."""
    if decimal == "," and ("," in written or _POINTED_THOUSANDS.search(written)):
        written = written.replace(".", "").replace(",", ".")
    return float(_NOT_FIGURES.sub("", written))


def _place(value: Value, key: str, language: str) -> str:
    """The place in a value: 'Rattatak' in '22 BBY, Rattatak', 'Heva' in 'during the hunt, over Heva'.

    What only says when names no place, unless the relation may lead to the event during which it was.
    """
    words, place = _words(language), _besides_dates(value.text, language)
    if says_when := words.when.match(place):
        shown = [link.text for link in _place_links(value, place[says_when.end() :], language)]
        _, comma, last = place.rpartition(",")
        if comma or len(shown) > 1:
            place = (last if comma else shown[-1]).strip()
            if words.when.match(place):
                return ""
        elif says_when["during"] and not _to_types(key):
            place = place[says_when.end() :].strip()
        else:
            return ""
    return _from_its_name(place, language)


def _from_its_name(text: str, language: str) -> str:
    """A text without words such as "at" and "the" before a name."""
    return text[match.end() :] if (match := _words(language).before_place.match(text)) else text


def _besides_dates(text: str, language: str) -> str:
    """A text without its dates, and without words such as "year" or "ten years" that belong to them."""
    words, pieces, position = _words(language), list[str](), 0
    for found in find_dates(text, language):
        pieces.append(words.before_date.sub("", text[position : found.start]))
        match = words.year_begins.match(text, found.end)
        position = match.end() if match else found.end
    return " ".join(" ".join([*pieces, text[position:]]).split()).strip(_AROUND)


def _place_links(value: Value, place: str, language: str) -> list[_Link]:
    """The links that a place shows; a date is none."""
    return [link for link in value.links if link.text in place and not is_time(link.text, language)]


def _is_no_place(text: str, value: Value, language: str) -> bool:
    """Whether what stands beside a date says no place: a time, the rest of one, or a word such as "alive"."""
    words = _words(language)
    is_rest = words.rest_of_date.search(text) and not _place_links(value, text, language)
    return bool(is_rest) or is_time(text, language) or bool(words.no_place.fullmatch(text))


def _target(source: str, value: Value, rule: InfoboxRule, stated: str, language: str) -> dict[str, Any]:
    """The title that a relation leads to. A link to a section names a part of a page, so it has no key."""
    if rule.reads == "besides_date":
        links = _place_links(value, stated, language)
    else:
        links = [link for link in value.links if not is_date(link.text, language)]
    links = [link for link in links if link.text == stated] or links
    if not links:
        return {}
    title = (_first_name(stated, links) if rule.link == "first" else links[-1]).title
    return {"target": title, "target_key": None if "#" in title else title_key(source, title)}


def _first_name(text: str, links: Sequence[_Link]) -> _Link:
    """The first of the links in a text, or the one that ends its name: Thrawn in "Grand Admiral Thrawn"."""
    name = links[0]
    for link in links[1:]:
        if not link.text[:1].isupper() or f"{name.text} {link.text}" not in text:
            break
        name = link
    return name


def _period(qualifier: str | None, rules: RuleBook) -> dict[str, Any]:
    """Start and end by the text in parentheses: a single date is the start, a span has both."""
    if qualifier is None:
        return {}
    found = find_dates(qualifier, rules.language)
    if not found:
        words = {part.strip().lower() for part in qualifier.split(";")}
        return {"end_time": qualifier[:_LONGEST_VALUE]} if words & rules.ended_words else {}
    first, last = found[0], found[-1]
    is_span = len(found) > 1 or first.is_span
    period: dict[str, Any] = {"calendar": first.calendar}
    if first.since is not None:
        period |= {"start_time": _side(first, 0, rules.language), "starts_from": first.since}
    if last.until is not None and (is_span or first.since is None):
        period |= {"end_time": _side(last, -1, rules.language), "ends_to": last.until}
    return period


def _side(found: DateSpan, side: int, language: str) -> str:
    """One end of a span as written, if by itself it says the same: "1500" of "1500-1200 BC" does not."""
    part = _words(language).dash.split(found.written)[side].strip()
    ends = [(one.since, one.until)[side] for one in find_dates(part, language)]
    return part if (found.since, found.until)[side] in ends else found.written
