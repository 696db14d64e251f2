"""Tables of the crawl: sites, seeds, batches, pages, and the attempts to fetch them."""

import pyarrow as pa

from holocron_assets.lake.declaration.schema import (
    Column,
    Table,
    type_bool,
    type_float,
    type_int,
    type_ints,
    type_string,
    type_strings,
    type_time,
)
from holocron_assets.lake.tables.shared import BATCH, NAMESPACE, PAGE_ID, RUN_ID, SOURCE, TITLE, TITLE_KEY

SITES = Table(
    name="sites",
    layer="crawl",
    description="What a wiki says of itself; reading its titles and links needs it",
    key=("source",),
    columns=(
        SOURCE,
        Column("site_name", type_string, "The wiki's name"),
        Column("generator", type_string, "Software and version", nullable=True),
        Column("base_url", type_string, "Address of the main page", nullable=True),
        Column("title_case", type_string, "'first-letter' (the first is capitalised) or 'case-sensitive'"),
        Column(
            "namespaces",
            pa.list_(
                pa.struct(
                    [
                        ("id", pa.int64()),
                        ("name", pa.string()),
                        ("canonical", pa.string()),
                        ("aliases", pa.list_(pa.string())),
                    ]
                )
            ),
            "Namespaces with local name, canonical (English) name and aliases",
        ),
        Column("interwiki_prefixes", type_strings, "Link prefixes that lead to other wikis"),
        Column(
            "article_count",
            type_int,
            "Content pages, by the wiki's own statistics",
            nullable=True,
            provenance=True,
        ),
        Column(
            "page_count", type_int, "All pages, by the wiki's own statistics", nullable=True, provenance=True
        ),
        Column("fetched_at", type_time, "When the wiki was asked", provenance=True),
        Column(
            "language",
            type_string,
            "Code of the language of its pages, such as 'en'",
            nullable=True,
            added=True,
        ),
        Column(
            "wiki_time",
            type_time,
            "When it answered, by its own clock; empty for a dump",
            nullable=True,
            added=True,
            provenance=True,
        ),
        Column(
            "case_sensitive_namespaces",
            type_ints,
            "Ids of namespaces in whose titles the case of the first letter counts; empty in rows of earlier "
            "versions, where `title_case` says it for all",
            nullable=True,
            added=True,
        ),
        Column(
            "article_path",
            type_string,
            "Path of its pages, with `$1` for the title; empty for a dump, and in rows of earlier versions",
            nullable=True,
            added=True,
            provenance=True,  # nothing is derived from it, so that the tables of an older row stay
        ),
        Column(
            "own_prefixes",
            type_strings,
            "Link prefixes that lead to the wiki itself; empty without any, and in rows of earlier versions",
            nullable=True,
            added=True,
        ),
    ),
)

SEED_TITLES = Table(
    name="seed_titles",
    layer="crawl",
    description="A title that a source starts from: named, in a named category, or any page of the wiki",
    key=("title_key",),
    columns=(
        SOURCE,
        TITLE,
        TITLE_KEY,
        NAMESPACE,
        Column("origin", type_string, "'title', 'category:NAME', 'all_pages' or 'dump'"),
        Column("ordinal", type_int, "Position of the page in the dump; empty for wikis", nullable=True),
        Column("revision_id", type_int, "Revision that the dump holds; empty for wikis", nullable=True),
        Column("listed_at", type_time, "When it was listed", provenance=True),
    ),
)

DUMP_INDEX = Table(
    name="dump_index",
    layer="crawl",
    description="A place from which a dump can be read: a byte where a page starts. The last row is its end",
    key=("ordinal",),
    columns=(
        SOURCE,
        Column("ordinal", type_int, "Position of the page in the dump; in the last row, the number of pages"),
        Column("unpacked_offset", type_int, "Byte where the page starts, in the unpacked dump"),
        Column("file_offset", type_int, "Byte to read from: in the dump, or in the copy of a packed dump"),
    ),
)

BATCH_PAGES = Table(
    name="batch_pages",
    layer="crawl",
    description="Manifest: a page of a batch to be fetched. Written before the batch's partition exists",
    key=("title_key",),
    partition_column="batch",
    columns=(
        SOURCE,
        BATCH,
        Column("position", type_int, "Place in the batch, from 0"),
        TITLE,
        TITLE_KEY,
        NAMESPACE,
        Column("depth", type_int, "Links followed from the nearest seed; 0 for a seed"),
        Column("discovered_from", type_string, "Title of the page that links here", nullable=True),
        Column("failures", type_int, "Failed attempts made in earlier batches, since the last requeue"),
        Column("reason", type_string, "Why it was cut: 'new', 'changed', 'retry', 'requeue' or 'added'"),
        Column("ordinal", type_int, "Position of the page in the dump; empty for wikis", nullable=True),
        Column("origin", type_string, "What is read: the wiki's API address, or the dump file's path"),
        Column("cut_at", type_time, "When the batch was cut"),
    ),
)

PAGES = Table(
    name="pages",
    layer="crawl",
    description="The outcome of asking for one page: its text and metadata, or why there is none",
    key=("requested_key",),
    partition_column="batch",
    row_group_rows=50,
    columns=(
        SOURCE,
        BATCH,
        Column("position", type_int, "Place in the batch's manifest, from 0"),
        Column("requested_title", type_string, "Title that was asked for"),
        Column("requested_key", type_int, "Signed 64-bit xxhash of source and requested title"),
        TITLE,
        TITLE_KEY,
        NAMESPACE,
        PAGE_ID,
        Column("revision_id", type_int, "Revision id", nullable=True),
        Column("revision_at", type_time, "When the revision was saved", nullable=True),
        Column("sha1", type_string, "SHA-1 of the text, hexadecimal, as the wiki states it", nullable=True),
        Column("content_hash", type_string, "128-bit xxhash of the wikitext", nullable=True),
        Column("content_model", type_string, "MediaWiki content model; mostly 'wikitext'", nullable=True),
        Column("wikitext", type_string, "The text, unchanged", nullable=True),
        Column("size_bytes", type_int, "UTF-8 bytes of the text", nullable=True),
        Column("categories", type_strings, "Category names without prefix", nullable=True),
        Column("links", type_strings, "Titles linked to", nullable=True),
        Column("redirect_target", type_string, "Title that a redirect leads to", nullable=True),
        Column("status", type_string, "'ok', 'missing', 'invalid', 'failed' (will be retried) or 'dead'"),
        Column("http_status", type_int, "Status of the request's answer; empty for dumps", nullable=True),
        Column("attempts", type_int, "Attempts so far, including those of earlier batches and crashes"),
        Column("error", type_string, "What went wrong, naming the page", nullable=True),
        Column("due_at", type_time, "When a failed page may be tried again", nullable=True),
        Column("fetched_at", type_time, "When it was asked for; its answer is not older"),
        Column("depth", type_int, "Links followed from the nearest seed; 0 for a seed"),
        Column("discovered_from", type_string, "Title of the page that links here", nullable=True),
        Column(
            "payload",
            type_string,
            "The page object as it came, as JSON, with null for its text (which is in `wikitext`)",
            nullable=True,
        ),
        RUN_ID,
    ),
)

HTTP_ATTEMPTS = Table(
    name="http_attempts",
    layer="crawl",
    description="One HTTP request that was sent, or refused before sending",
    key=("attempt_id",),
    partition_column="scope",
    columns=(
        Column("attempt_id", type_string, "Unique id"),
        SOURCE,
        Column(
            "scope",
            type_string,
            "Batch that it served, or NAME-seeds-YYYYMMDD; likewise with -changes- and -recheck-",
        ),
        Column("host", type_string, "Host and port asked"),
        Column("verb", type_string, "HTTP method"),
        Column("url", type_string, "Address without the title list"),
        Column("titles", type_int, "Pages asked for in this request"),
        Column("attempt", type_int, "1 for the first try of this request"),
        Column("started_at", type_time, "When it was sent"),
        Column("status", type_int, "HTTP status; empty when no answer came", nullable=True),
        Column(
            "outcome",
            type_string,
            "'ok', 'maxlag', 'throttled', 'captcha', 'server_error', 'client_error', 'not_api', 'api_error' "
            "or 'network_error'; for a request that was not sent 'held', 'breaker_open', 'quiet_hours', "
            "'daily_limit', 'rate', 'slot', 'robots' or 'private_address'",
        ),
        Column("latency_ms", type_float, "Milliseconds from sending to the body's end"),
        Column("bytes", type_int, "Body size after decompression, in bytes; of a file, bytes on the wire"),
        Column("limiter_wait_s", type_float, "Seconds waited for rate and slot before sending"),
        Column(
            "held_s", type_float, "Seconds in which the host was left alone before sending", nullable=True
        ),
        Column(
            "retry_wait_s", type_float, "Seconds to wait before the next try; empty if none", nullable=True
        ),
        Column("error", type_string, "What went wrong", nullable=True),
        Column(
            "pace", type_float, "Share of the configured rate in use afterwards, from 0 to 1", nullable=True
        ),
        Column("breaker", type_string, "'closed', 'open' or 'half_open', afterwards", nullable=True),
        Column(
            "decision",
            type_string,
            "What changed in the treatment of the host, and why; empty if nothing",
            nullable=True,
        ),
        Column(
            "reason",
            type_string,
            "What became of a file's request: 'http-200', 'http-304', 'cache-hit', 'size-mismatch', ...; "
            "of a repeated try 'retry-http-200' and so on",
            nullable=True,
            added=True,
        ),
        Column(
            "resolver",
            type_string,
            "Resolver that gave a file's address",
            nullable=True,
            added=True,
        ),
    ),
)

PAGE_CHANGES = Table(
    name="page_changes",
    layer="crawl",
    description="The newest change of a page that its wiki reported, and that may not be fetched yet",
    key=("title_key",),
    columns=(
        SOURCE,
        TITLE,
        TITLE_KEY,
        NAMESPACE,
        Column("kind", type_string, "'edit', 'new', 'delete', 'restore' or 'move'"),
        Column("seen_in", type_string, "'recent_changes', or 'check' where revision ids were compared"),
        Column(
            "revision_id",
            type_int,
            "Revision that the page has since then; empty if the wiki did not name it",
            nullable=True,
        ),
        Column(
            "changed_at",
            type_time,
            "When it changed, or was found changed, by the wiki's clock, corrected by whole minutes",
        ),
        Column(
            "seen_at",
            type_time,
            "When it was first reported, by our clock; of several edits that were not fetched, the first one",
        ),
    ),
)

CHANGE_LOOKS = Table(
    name="change_looks",
    layer="crawl",
    description="How far a wiki's list of recent changes was read, and when it is read again",
    key=("source",),
    columns=(
        SOURCE,
        Column(
            "place",
            type_time,
            "Up to when the wiki has reported its changes, by its clock; empty before it was first asked",
            nullable=True,
        ),
        Column(
            "continuation",
            type_string,
            "Where its list continues, as JSON; empty when it was read to its end",
            nullable=True,
        ),
        Column(
            "told",
            pa.list_(pa.struct([("entry_id", pa.int64()), ("at", type_time)])),
            "Entries of the list's last minutes, so that none counts twice: the wiki's number and time",
        ),
        Column(
            "reaches_back_to",
            type_time,
            "The oldest entry that the list held, when it was last asked for",
            nullable=True,
        ),
        Column(
            "unproven_since",
            type_time,
            "Where a reading began, if the list may not reach back so far; the next request asks that",
            nullable=True,
        ),
        Column(
            "clock_ahead",
            type_float,
            "By how many seconds the wiki's clock was ahead of ours when it was last read to its end",
            nullable=True,
            added=True,
        ),
        Column(
            "requests_until",
            type_time,
            "Up to when requests were recorded while our clock was ahead of what it said later",
            nullable=True,
            added=True,
        ),
        Column(
            "answered_at",
            type_time,
            "When the wiki last gave a part of its list, by our clock",
            nullable=True,
            added=True,
        ),
        Column("changes", type_int, "Changes of wanted namespaces in the last reading"),
        Column("problem", type_string, "Why the last reading stopped early", nullable=True),
        Column("looked_at", type_time, "When it was last read, by our clock"),
        Column("due_at", type_time, "When the next reading is due, by our clock"),
    ),
)

REVISION_CHECKS = Table(
    name="revision_checks",
    layer="crawl",
    description="A pass over all fetched pages of a wiki; it compares their revisions with the present ones",
    key=("started_at",),
    columns=(
        SOURCE,
        Column("started_at", type_time, "When it was begun"),
        Column(
            "why",
            type_string,
            "'schedule', 'person', or 'gap': the wiki's list of changes did not reach back far enough",
        ),
        Column(
            "place",
            type_int,
            "Title key up to which pages are checked; empty before the first",
            nullable=True,
        ),
        Column("checked", type_int, "Pages checked so far"),
        Column("changed", type_int, "Pages that had changed since they were fetched"),
        Column("continued_at", type_time, "When it last went on", nullable=True),
        Column("finished_at", type_time, "When it ended; empty while it is unfinished", nullable=True),
    ),
)

KNOWN_LINKS = Table(
    name="known_links",
    layer="crawl",
    description="A title that a source knows: what its seeds, fetched pages and their links say of it, "
    "so that the frontier reads no batch twice. Can be made anew from them at any time",
    key=("title_key",),
    columns=(
        SOURCE,
        TITLE,
        TITLE_KEY,
        NAMESPACE,
        Column("is_seed", type_bool, "Whether it is among the seeds"),
        Column("ordinal", type_int, "Position of the page in the dump; empty for wikis", nullable=True),
        Column("wanted_revision", type_int, "Revision that the dump holds; empty for wikis", nullable=True),
        Column("listed_at", type_time, "When it was listed as a seed", nullable=True),
        Column(
            "depth",
            type_int,
            "Fewest links from any seed; empty if none leads to it, or only more links than are followed",
            nullable=True,
        ),
        Column("via_key", type_int, "Title key of the page before it on this path", nullable=True),
        Column("inbound", type_int, "Links to it from the last answered revisions of pages"),
        Column(
            "status", type_string, "Status of the last outcome; empty if it was not requested", nullable=True
        ),
        Column("attempts", type_int, "Attempts that led to the last outcome", nullable=True),
        Column("error", type_string, "What went wrong the last time", nullable=True),
        Column("due_at", type_time, "When it may be tried again, if it failed", nullable=True),
        Column("asked_at", type_time, "When the last outcome came", nullable=True),
        Column("answered_at", type_time, "When the last answer came", nullable=True),
        Column("answered_status", type_string, "Status of the last answer", nullable=True),
        Column("answered_revision", type_int, "Revision of the last answer", nullable=True),
    ),
)
