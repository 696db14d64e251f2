"""Listing the artifacts of a source: table `file_list`. A killed listing goes on where it was."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from holocron_assets.crawl.dumps.listing import dump_mark, listing_journal
from holocron_assets.crawl.errors import WikiRefused
from holocron_assets.crawl.files.artifact import artifact_key
from holocron_assets.crawl.mediawiki.client import MOST_TITLES, WikiClient
from holocron_assets.crawl.mediawiki.files import ReportedFile
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.lists import Item, ReadUrl, read_list
from holocron_assets.crawl.sources.patterns import fitting
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import Footer, read_footer, read_partition, write_partition
from holocron_assets.lake.journals.journal import Journal
from holocron_assets.lake.journals.notes import Note
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake, source_of
from holocron_assets.lake.tables import ENTITIES, FILE_LIST, FILE_USES
from holocron_assets.lake.views.database import connect, query

LIST_VERSION = "1"
_LISTED_AT, _SETTINGS, _READ = "listed_at", "settings", "read"
_MOST_PROBLEMS = 20

_WANTED = {
    "pages": "select name from file_uses where source = any($sources) and role <> 'reference'",
    "entities": "select name from file_uses where source = any($sources) and role <> 'reference'"
    " and entity_state in ('promoted', 'adjudicated')",
}


@dataclass(frozen=True)
class FileListing:
    """The result of listing a source's artifacts.

    Attributes:
        footer: the footer of the partition that was written.
        rows: its rows.
        problems: lines and values that name no artifact, the first 20, with their list; the rest was kept.
        problem_count: how many there are.
    """

    footer: Footer
    rows: Sequence[Row]
    problems: tuple[str, ...] = ()
    problem_count: int = 0


def list_is_due(lake: Lake, source: FileSource, now: datetime, rest: timedelta = timedelta(0)) -> bool:
    """Whether a source's artifacts were never listed, or are to be listed again.

    They are if its settings, its lists or the pages that use its files have changed, and else after the time
    that its file sets.

    Args:
        lake: the lake.
        source: the source.
        now: the current time.
        rest: for how long after a listing pages that use its files do not count. Each batch of pages changes
            what pages use, and a listing reads it all.
    """
    footer = read_footer(lake, FILE_LIST, source.name)
    if footer is None or footer.code_version != LIST_VERSION or footer.inputs[_SETTINGS] != _settings(source):
        return True
    since = now - datetime.fromisoformat(footer.inputs[_LISTED_AT])
    if not timedelta(0) <= since < timedelta(minutes=source.list_every_minutes):
        return True
    rests = source.kind == "mediawiki_files" and since < rest
    return not rests and footer.inputs[_READ] != _read_mark(lake, source)


def list_mark(lake: Lake, source: FileSource) -> str:
    """A text that changes with what makes the next listing differ from the last."""
    footer = read_footer(lake, FILE_LIST, source.name)
    listed_at = footer.inputs.get(_LISTED_AT) if footer else None
    return f"{LIST_VERSION} {_settings(source)} {_read_mark(lake, source)} {listed_at}"


def store_file_list(
    lake: Lake,
    source: FileSource,
    client: WikiClient | None,
    read_url: ReadUrl,
    safe_point: Callable[[], object] = lambda: None,
) -> FileListing:
    """List a source's artifacts and write its partition of table `file_list`.

    Args:
        lake: where the rows go.
        source: what to list.
        client: asks the wiki; None for lists.
        read_url: reads a sitemap.
        safe_point: called now and then; it raises if the listing must stop.

    Raises:
        ListError: a list as a whole cannot be read. The old rows are kept.
        WikiUnavailable: the wiki gave no answer. What it listed so far is kept.
        WikiRefused: the wiki will not answer. What it listed so far is kept, unless it will not go on from
            where a killed listing stopped.
    """
    marks = {_SETTINGS: _settings(source), _READ: _read_mark(lake, source)}
    problems: list[str] = []
    if client is None:
        rows = list(_of_lists(lake, source, read_url, problems, safe_point))
        return _written(lake, source, rows, marks, problems)
    # The journal holds what the wiki says of its files, whichever pages are read meanwhile.
    begun_as = {_SETTINGS: marks[_SETTINGS], "version": LIST_VERSION}
    path = lake.journal(FILE_LIST, source.name)
    if source.wanted == "all":
        _discard_old(source, Journal(path))
    journal = listing_journal(path, begun_as)
    with journal:
        rows = (
            _all_files(source, client, journal)
            if source.wanted == "all"
            else _used_files(lake, source, client, journal)
        )
        rows = _with_archive_names(rows, _standing(lake, source), client, journal)
    listing = _written(lake, source, rows, marks, problems)
    journal.remove()
    return listing


def _of_lists(
    lake: Lake,
    source: FileSource,
    read_url: ReadUrl,
    problems: list[str],
    safe_point: Callable[[], object],
) -> Iterator[Row]:
    now = utc_now()
    for listing in source.lists:
        for found in read_list(listing, lake, read_url):
            safe_point()
            if isinstance(found, Item):
                yield _list_row(source.name, found, listing.label, now)
            else:
                problems.append(found)


def _all_files(source: FileSource, client: WikiClient, journal: Journal) -> list[Row]:
    """The rows of all files of a wiki; the journal holds those that were listed before a kill."""
    last = [record for record in journal.records() if "next" in record][-1:]
    place = last[0]["next"] if last else None
    is_resumed = place is not None
    if not last or is_resumed:
        try:
            for files, following in client.list_files(place):
                now = utc_now()
                rows = [_wiki_row(source, file, "all_files", now) for file in files]
                journal.append({"rows": rows, "next": following})
                is_resumed = False
        except WikiRefused:
            if is_resumed:  # after an upgrade, say, a wiki may not know the place any more
                journal.remove()
            raise
    # A file that is uploaded again meanwhile may be listed twice: the later answer counts.
    return list({row["name"]: row for row in _journaled(journal)}.values())


def _used_files(lake: Lake, source: FileSource, client: WikiClient, journal: Journal) -> list[Row]:
    """The rows of the files that pages or entities use, the most used first.

    The wiki is asked about those alone of which it was not asked before, or too long ago.
    """
    wanted = _wanted_names(lake, source)
    oldest = utc_now() - timedelta(minutes=source.list_every_minutes)
    rows_before = [*_standing(lake, source), *_journaled(journal)]
    known = {row["name"]: row for row in rows_before if row["listed_at"] >= oldest}
    asked = {**_absent_before(lake, source), **_asked(journal)}
    asked = {name: at for name, at in asked.items() if at >= oldest}
    unknown = [name for name in wanted if name not in known and name not in asked]
    for start in range(0, len(unknown), MOST_TITLES):
        names, now = unknown[start : start + MOST_TITLES], utc_now()
        rows = [_wiki_row(source, file, source.wanted, now) for file in client.describe_files(names)]
        journal.append({"rows": rows, "asked": names, "asked_at": now.isoformat()})
        known |= {row["name"]: row for row in rows}
        asked |= dict.fromkeys(names, now)
    absent = {name: asked[name].isoformat() for name in wanted if name in asked and name not in known}
    _absent_note(lake, source).write(json.dumps({_SETTINGS: _settings(source), "asked": absent}))
    return [known[name] for name in wanted if name in known]


def _asked(journal: Journal) -> dict[str, datetime]:
    """The names that a listing asked about before it was cut off, and when."""
    return {
        name: datetime.fromisoformat(record["asked_at"])
        for record in journal.records()
        if "asked_at" in record
        for name in record["asked"]
    }


def _absent_before(lake: Lake, source: FileSource) -> dict[str, datetime]:
    """The files that pages name and the wiki lacked when it was asked, and when that was.

    Other settings may name another wiki. A kill may have left half a note.
    """
    try:
        noted = json.loads(_absent_note(lake, source).read() or "{}")
    except ValueError:
        return {}
    if noted.get(_SETTINGS) != _settings(source):
        return {}
    return {name: datetime.fromisoformat(at) for name, at in noted["asked"].items()}


def _absent_note(lake: Lake, source: FileSource) -> Note:
    return lake.note(f"absent-files-{source.name}.json")


def _with_archive_names(
    rows: Sequence[Row], before: Sequence[Row], client: WikiClient, journal: Journal
) -> list[Row]:
    """The rows, with the archive name of the version that each replaced since the last listing.

    The wiki is asked about one file at a time, so the journal keeps each answer.
    """
    known = {row["name"]: row for row in before}
    answers: dict[tuple[str, str], str | None] = {
        (record["replaced"], record["by"]): record["archive_name"]
        for record in journal.records()
        if "replaced" in record
    }

    def archive_name(row: Row) -> str | None:
        name, artifact_id = row["name"], row["artifact_id"]
        last = known.get(name)
        if last is None or last["artifact_id"] == artifact_id:
            return last["archive_name"] if last else None
        if (name, artifact_id) not in answers:
            found = answers[name, artifact_id] = client.replaced_version(name)
            journal.append({"replaced": name, "by": artifact_id, "archive_name": found})
        return answers[name, artifact_id]

    return [{**row, "archive_name": archive_name(row)} for row in rows]


def _wanted_names(lake: Lake, source: FileSource) -> list[str]:
    counted = f"select name from ({_WANTED[source.wanted]}) group by name order by count(*) desc, name"  # noqa: S608 - our own
    with connect(lake, relations=["file_uses"]) as connection:
        return [row["name"] for row in query(connection, counted, {"sources": list(source.pages_of)})]


def _standing(lake: Lake, source: FileSource) -> Sequence[Row]:
    footer = read_footer(lake, FILE_LIST, source.name)
    is_usable = (
        footer and footer.code_version == LIST_VERSION and footer.inputs[_SETTINGS] == _settings(source)
    )
    return read_partition(lake, FILE_LIST, source.name) if is_usable else []


def _discard_old(source: FileSource, journal: Journal) -> None:
    """Throw a listing of all files away that is so old that the next one is due."""
    first = next((row for record in journal.records() for row in record.get("rows", ())), None)
    oldest = utc_now() - timedelta(minutes=source.list_every_minutes)
    if first and FILE_LIST.revive(first)["listed_at"] < oldest:
        journal.remove()


def _journaled(journal: Journal) -> list[Row]:
    return [FILE_LIST.revive(row) for record in journal.records() for row in record.get("rows", ())]


def _written(
    lake: Lake, source: FileSource, rows: Iterable[Row], marks: Mapping[str, str], problems: Sequence[str]
) -> FileListing:
    # A list may call two artifacts the same, and state two versions of one.
    once = list({(row["name"], row["artifact_id"], row.get("version")): row for row in rows}.values())
    fit = fitting([row["name"] for row in once], include=source.include, exclude=source.exclude)
    kept = [row for row, fits in zip(once, fit, strict=True) if fits]
    placed = [{**row, "position": position} for position, row in enumerate(kept)]
    inputs = {**marks, _LISTED_AT: utc_now().isoformat()}
    footer = write_partition(lake, FILE_LIST, source.name, placed, code_version=LIST_VERSION, inputs=inputs)
    return FileListing(footer, placed, tuple(problems[:_MOST_PROBLEMS]), len(problems))


def _settings(source: FileSource) -> str:
    """A hash of the settings that a listing depends on."""
    keys = {"kind", "address", "wanted", "pages_of", "lists", "include", "exclude"}
    return content_hash(json.dumps(source.model_dump(include=keys, mode="json"), sort_keys=True))


def _read_mark(lake: Lake, source: FileSource) -> str:
    """A text that changes with the files, views and pages that a listing reads. Quick to compute."""
    marks = [dump_mark(Path(listing.file)) for listing in source.lists if listing.file]
    if source.kind == "mediawiki_files" and source.wanted != "all":
        marks.append(lake.mark([FILE_USES], lambda batch: source_of(batch) in source.pages_of))
        if source.wanted == "entities":
            marks.append(lake.mark([ENTITIES]))
    return content_hash(" ".join(marks))


def _wiki_row(source: FileSource, file: ReportedFile, origin: str, now: datetime) -> dict[str, Any]:
    """The row of a wiki's file. It is one artifact with every other file of the same SHA-1.

    So a file that was moved is not fetched again, and one that was replaced is.
    """
    return {
        **_identified(source.name, file.title, f"sha1:{file.sha1}"),
        "pages_of": list(source.pages_of),
        "url": file.url,
        "size_bytes": file.size,
        "sha1": file.sha1,
        "mime": file.mime,
        "saved_at": file.timestamp,
        "archive_name": file.archivename,
        "origin": origin,
        "listed_at": now,
    }


def _list_row(source: str, item: Item, origin: str, now: datetime) -> dict[str, Any]:
    fields = item.stated.get("fields")
    return {
        **_identified(source, item.name, item.artifact_id),
        "pages_of": [],
        **item.stated,
        "fields": json.dumps(fields, sort_keys=True, ensure_ascii=False) if fields else None,
        "origin": origin,
        "listed_at": now,
    }


def _identified(source: str, name: str, artifact_id: str) -> dict[str, Any]:
    return {
        "source": source,
        "name": name,
        "artifact_id": artifact_id,
        "artifact_key": artifact_key(artifact_id),
    }
