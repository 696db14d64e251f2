"""The tags of a page: what its editors, its signals, its types and a model say that it is about."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from holocron_assets.entities.tags.names import tag_id, tag_name
from holocron_assets.entities.tags.worth import tag_worth
from holocron_assets.lake.declaration.schema import Row

_CONTINUITIES = frozenset({"canon", "legends", "both", "real"})


def page_tag_rows(signals: Row, page_type: Row) -> list[dict[str, Any]]:
    """The rows of `page_tags` of one page; none of a redirect.

    Args:
        signals: the page's row of `page_signals`.
        page_type: the same revision's row of `page_types`.
    """
    if signals["is_redirect"]:
        return []
    page = _target(signals, "page", str(signals["title_key"]), None)
    tags = (
        *_categories(signals),
        *_continuities(signals, page_type),
        *_types(page_type),
        *_topics(page_type),
    )
    return _rows(page, tags)


def chunk_tag_rows(answers: Iterable[Row]) -> list[dict[str, Any]]:
    """The rows of `page_tags` of the chunks of a batch's list pages: types of what each names.

    Args:
        answers: rows of the extraction's table.
    """
    chunks: defaultdict[tuple[int, int], list[Row]] = defaultdict(list)
    for answer in answers:
        chunks[answer["title_key"], answer["chunk"] or 0].append(answer)
    rows: list[dict[str, Any]] = []
    for (key, number), named in sorted(chunks.items()):
        rows += _rows(_target(named[0], "chunk", f"{key}#{number}", number), _named_types(named))
    return rows


def _target(row: Row, kind: str, identifier: str, chunk: int | None) -> dict[str, Any]:
    columns = ("source", "batch", "title", "title_key", "revision_id")
    return {
        "target_kind": kind,
        "target_id": identifier,
        "chunk": chunk,
        **{column: row[column] for column in columns},
    }


def _rows(target: Row, tags: Iterable[Row]) -> list[dict[str, Any]]:
    """A row for each tag from any origin; none for a name without letters and digits."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for tag in tags:
        name = tag_name(tag["name"])
        if any(map(str.isalnum, name)):
            row = {**target, **tag, "name": name, "tag_id": tag_id(tag["type"], name)}
            del row["type"]
            found.setdefault((row["tag_id"], row["method"]), row)
    return list(found.values())


def _tag(kind: str, name: str, method: str, weight: float, confidence: float) -> Row:
    return {"type": kind, "name": name, "method": method, "weight": weight, "confidence": confidence}


def _categories(signals: Row) -> Iterator[Row]:
    worth = tag_worth().category
    for category in signals["categories"]:
        yield _tag("category", category, "category", worth.weight, worth.confidence)


def _continuities(signals: Row, page_type: Row) -> Iterator[Row]:
    """The page's own continuity, and for a work that of its story."""
    worth = tag_worth().continuity
    for method, continuity in (("signals", signals["continuity"]), ("types", page_type["canon_context"])):
        if continuity in _CONTINUITIES:
            yield _tag("continuity", continuity, method, worth.weight, worth.confidence)


def _types(page_type: Row) -> Iterator[Row]:
    weights = {each["type"]: each["weight"] for each in page_type["types"]}
    primary, confidence = page_type["primary_type"], page_type["confidence"]
    yield _tag("type", primary, "types", weights.pop(primary, 1.0), confidence)
    for name, weight in weights.items():
        yield _tag("type", name, "types", weight, min(weight, confidence))
    if page_type["work_medium"] not in {None, "unknown"}:
        yield _tag("medium", page_type["work_medium"], "types", tag_worth().medium.weight, confidence)


def _topics(page_type: Row) -> Iterator[Row]:
    worth = tag_worth().topic
    for topic in page_type["tags"] or ():
        yield _tag("topic", topic, "model", worth.weight, worth.confidence)


def _named_types(named: list[Row]) -> Iterator[Row]:
    """Each type by its share of the names, with confidence by how well the names are found in the chunk."""
    worth, counts = tag_worth().named, Counter(row["type"] for row in named)
    found = Counter(row["type"] for row in named if row["supported"])
    for name, count in sorted(counts.items()):
        sure = found[name] * worth.supported + (count - found[name]) * worth.unsupported
        yield _tag("type", name, "model", round(count / len(named), 3), round(sure / count, 3))
