"""The values that identify an entity, and when two entities are two by definition."""

from typing import NamedTuple

_PAGE = "page"


class Record(NamedTuple):
    """The values that identify an entity.

    Attributes:
        entity_id: its id.
        entity_type: its type; only records of one type are compared.
        source: its source.
        wiki: host of the wiki that the source reads, or the source's name: two sources may read one wiki.
        page_id: the wiki's id of its page, if it has one.
        title: its page, or the title that the mention means.
        batch: batch of the page.
        continuity: 'canon', 'legends', 'both', 'real' or 'unknown'.
        origin: 'page' or 'mention'.
        name: its own name: the title without namespace prefix and continuity suffix.
        names: its other names, also without continuity suffix.
        external_ids: identifiers that others gave it, as 'scheme:value' ('isbn:9780345446107').
        singled_out_by: facts that single it out, as 'key=value' joined by '; ', by the identity policy.
        related: titles that relations of its infobox lead to: its parts, its series.
        to_merge: titles that a notice on its page proposes to merge it with; an empty one if it names none.
        addresses: of its page and of redirects to it, as 'language:title', if the lake has several languages.
        interlanguage: addresses of the same page in other languages, by links of its page.
    """

    entity_id: str
    entity_type: str
    source: str
    wiki: str
    page_id: int | None
    title: str
    batch: str
    continuity: str
    origin: str
    name: str
    names: tuple[str, ...]
    external_ids: tuple[str, ...]
    singled_out_by: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    to_merge: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    interlanguage: tuple[str, ...] = ()


def page_of(record: Record) -> tuple[str, int] | None:
    """The page that a record was read from, the same through any source; None for a mention."""
    if record.origin != _PAGE or record.page_id is None:
        return None
    return record.wiki, record.page_id


def are_pages_of_one_wiki(one: Record, other: Record) -> bool:
    """Whether one wiki has a page for each: its editors treat them as two things."""
    both_pages = one.origin == other.origin == _PAGE
    is_one_page = page_of(one) is not None and page_of(one) == page_of(other)
    return both_pages and one.wiki == other.wiki and not is_one_page


def reason_beyond_the_name(one: Record, other: Record) -> str | None:
    """Why two pages of one wiki may be one thing though they have a page each; None if nothing says so.

    Names that are alike are no reason, nor are identifiers and facts of a work and its parts, where the
    infobox of one leads to the other.
    """
    if any(
        title in ("", there.title) for here, there in ((one, other), (other, one)) for title in here.to_merge
    ):
        return "a notice proposes to merge them"
    if one.title in other.related or other.title in one.related or one.name == other.name:
        return None
    shared = {*one.external_ids, *one.singled_out_by} & {*other.external_ids, *other.singled_out_by}
    return f"both have {min(shared)}" if shared else None


def are_two(one: Record, other: Record) -> bool:
    """Whether records are known to be two things: pages of one wiki, or of two continuities."""
    return {one.continuity, other.continuity} == {"canon", "legends"} or are_pages_of_one_wiki(one, other)
