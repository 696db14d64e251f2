"""The reader of a batch of files: each artifact through its resolvers, until one gives its bytes."""

import hashlib
import mimetypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from holocron_assets.crawl.errors import HostBusy, WikiUnavailable
from holocron_assets.crawl.files.artifact import Artifact, ArtifactError, Candidate, artifact_of
from holocron_assets.crawl.files.outcomes import Outcome, outcome_of, row_of, status_of
from holocron_assets.crawl.files.resolvers import Link, ResolverError, asks_its_wiki, chain_of, usable
from holocron_assets.crawl.files.transfers import kinds
from holocron_assets.crawl.files.transfers.answers import Verdict
from holocron_assets.crawl.files.transfers.fetching import WALL, Fetching
from holocron_assets.crawl.files.transfers.hosts import hosts_of
from holocron_assets.crawl.files.transfers.kinds import HTML
from holocron_assets.crawl.files.transfers.receiving import Wanted
from holocron_assets.crawl.files.transfers.transfer import Held, Transfer
from holocron_assets.crawl.files.transfers.turns import resolver_turns
from holocron_assets.crawl.http.client import HttpClient
from holocron_assets.crawl.http.log import Tally
from holocron_assets.crawl.sources.file_source import FileSource
from holocron_assets.crawl.sources.source import host_of
from holocron_assets.crawl.waiting import Group
from holocron_assets.lake.attempts import MAX_ATTEMPTS
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.store import FileStore
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.telemetry.context import about

_OVER_MANY_HOSTS = 16
"""Files that come at once from lists, which name many hosts; each host has its own limits."""
_ASKS_FOR_REST = frozenset({"throttled", "captcha", "maxlag"})
_PERHAPS_A_FILES_FAULT = frozenset({"server_error", "network_error"})


class FileReader:
    """Reads artifacts, one at a time in each thread. It is a `crawl.fetch.BatchReader`.

    A wiki that does not work ends the reading, as it does for pages. A list names many hosts: there, the
    artifacts of a host that may not be asked now fail without an attempt, and those of others are read.
    """

    group_sizes: Sequence[int] = (1,)

    def __init__(
        self,
        source: FileSource,
        chain: Sequence[Link],
        fetching: Fetching,
        store: FileStore,
        http: HttpClient,
    ) -> None:
        """Read the artifacts of `source` through the resolvers of `chain`."""
        self._is_wiki = source.kind == "mediawiki_files"
        self.groups_at_once = source.politeness.requests_in_flight if self._is_wiki else _OVER_MANY_HOSTS
        self._source, self._chain = source, chain
        self._fetching, self._store, self._http = fetching, store, http

    def read(self, group: Group, run_id: str) -> list[dict[str, Any]]:
        """Rows of table `files` for rows of table `file_batches`, in their order.

        Column `attempts` is 1, or 0 for a failure that was no attempt at the artifact: its host may not be
        asked before `due_at`. See `row_of` for tracebacks.

        Raises:
            WikiUnavailable: the wiki of a source `mediawiki_files` does not work, or may not be asked now.
            WikiRefused: the wiki will not answer its resolver.
            OSError, StoreError: this machine's disk, or the store of a shared lake, does not take the bytes.
        """
        return [self._read(wanted, run_id) for wanted in group]

    def reads_others_than(self, group: Group) -> bool:  # noqa: ARG002 - no file is there to be chosen
        """Read nothing (see `BatchReader.reads_others_than`)."""
        return False

    def give_up(self) -> None:
        """Stop what other threads are reading (see `BatchReader.give_up`)."""
        self._http.give_up()

    def _read(self, wanted: Row, run_id: str) -> dict[str, Any]:
        artifact = artifact_of(wanted)
        with about(artifact=artifact.artifact_id):
            try:
                outcome = self._outcome(wanted, artifact)
            except ResolverError as error:
                outcome = Outcome("failed", "resolver-error", error=str(error), cause=error)
            return row_of(wanted, artifact, outcome, run_id)

    def _outcome(self, wanted: Row, artifact: Artifact) -> Outcome:
        limit = self._source.max_bytes
        if artifact.size_bytes is not None and artifact.size_bytes > limit:
            problem = f"its source states {artifact.size_bytes} bytes, and max_bytes is {limit}"
            return Outcome("refused", "too-large", error=problem)
        held = self._held(wanted)
        if held_now := self._stated_and_held(artifact, held):
            return Outcome("ok", "held", made=held_now)
        is_last_chance = wanted["failures"] + 1 >= MAX_ATTEMPTS
        return self._try_all(artifact, held, is_last_chance=is_last_chance)

    def _held(self, wanted: Row) -> Held | None:
        sha256 = wanted["held_sha256"]
        if sha256 is None or not self._store.has(sha256):
            return None
        of_answer = (wanted[f"held_{name}"] for name in ("url", "etag", "last_modified", "fresh_until"))
        return Held(sha256, *of_answer)

    def _stated_and_held(self, artifact: Artifact, held: Held | None) -> Transfer | None:
        """The held bytes, if they are the ones that the source states: then nothing is asked."""
        if artifact.sha256 and self._store.has(artifact.sha256):
            held = held if held and held.sha256 == artifact.sha256 else Held(artifact.sha256)
        elif not (held and artifact.sha1 and self._has_sha1(held, artifact)):
            return None
        made = Transfer(Candidate("", held.url or ""), Verdict("unchanged", "held"))
        made.take_held(held, self._wanted(artifact, made.candidate), self._store)
        return made

    def _has_sha1(self, held: Held, artifact: Artifact) -> bool:
        if artifact.artifact_id == f"sha1:{artifact.sha1}":
            return True  # it was checked when the bytes came
        with self._store.bring(held.sha256).open("rb") as opened:
            return hashlib.file_digest(opened, "sha1").hexdigest() == artifact.sha1

    def _try_all(self, artifact: Artifact, held: Held | None, *, is_last_chance: bool) -> Outcome:
        """Try candidate after candidate. One that fails for now is tried again later, before the next ones.

        On the artifact's last attempt there is no later, and the next ones are tried too. So are they if a
        firewall refuses us: it may do so for ever.
        """
        tried: list[Transfer] = []
        for link in self._chain:
            for candidate in link.candidates(artifact):
                made = self._try(link, candidate, artifact, held)
                tried.append(made)
                if made.is_ok:
                    return outcome_of(tried)
                if not made.counts:
                    return replace(outcome_of([made]), tried=tried, counts=False)
                if status_of(made) == "failed" and not is_last_chance and made.verdict.reason != WALL:
                    return outcome_of(tried)
        return outcome_of(tried)

    def _try(self, link: Link, candidate: Candidate, artifact: Artifact, held: Held | None) -> Transfer:
        """Try one candidate.

        Raises:
            WikiUnavailable: the wiki does not work, or may not be asked now.
        """
        try:
            candidate = replace(candidate, url=usable(candidate))
            made = self._fetching.fetch(candidate, self._wanted(artifact, candidate), held, head=link.head)
        except ArtifactError as error:
            return Transfer(candidate, Verdict("refused", "no-address", str(error)))
        except WikiUnavailable as error:
            if self._is_wiki:
                raise
            return _not_asked(candidate, error)
        if self._is_wiki and self._is_the_wikis_fault(made):
            due_at = made.due_at or utc_now()
            problem = f"{candidate.url}: {made.verdict.problem}"
            raise WikiUnavailable(host_of(candidate.url), problem, due_at, made.host_outcome) from made.cause
        made.counts = made.host_outcome not in _ASKS_FOR_REST
        return made

    def _is_the_wikis_fault(self, made: Transfer) -> bool:
        if made.host_outcome in _PERHAPS_A_FILES_FAULT:
            return not self._fetching.works(made.candidate.url)
        return made.host_outcome in _ASKS_FOR_REST

    def _wanted(self, artifact: Artifact, candidate: Candidate) -> Wanted:
        mime = artifact.mime or candidate.mime
        return Wanted(
            artifact.name,
            artifact.size_bytes if artifact.size_bytes is not None else candidate.size_bytes,
            artifact.sha1 or candidate.sha1,
            artifact.sha256,
            mime,
            self._source.expect,
            self._source.max_bytes,
            may_be_html=_may_be_html(mime, self._source.expect, candidate.url),
        )


def _not_asked(candidate: Candidate, error: WikiUnavailable) -> Transfer:
    """A candidate whose host may not be asked now, or whose robots.txt cannot be read."""
    hindrance = f"host-{error.hindrance}" if isinstance(error, HostBusy) else str(error.outcome)
    made = Transfer(candidate, Verdict("wrong", hindrance.replace("_", "-"), error.reason))
    made.due_at, made.counts, made.cause = error.due_at, not isinstance(error, HostBusy), error
    return made


def _may_be_html(mime: str | None, expect: Sequence[str], url: str) -> bool:
    """Whether a page for people may be the file: nothing that is known of it says otherwise."""
    if mime is not None:
        return mime == HTML
    if expect:
        return kinds.is_expected(HTML, expect)
    return mimetypes.guess_type(url.partition("?")[0])[0] in {None, HTML}


@contextmanager
def file_reader(  # noqa: PLR0913 - the same as for `page_reader`
    lake: Lake,
    source: FileSource,
    batch: str,
    politeness_folder: Path,
    *,
    tally: Tally | None = None,
    safe_point: Callable[[], object] = lambda: None,
) -> Iterator[FileReader]:
    """The reader of one batch of a source of files.

    Args:
        lake: takes the objects, and the `http_attempts` rows.
        source: the source, its resolvers and its limits.
        batch: its name; the rows of `http_attempts` are recorded under it.
        politeness_folder: what all processes of this machine share about hosts.
        tally: counts the requests too.
        safe_point: called before each request is sent; it raises if no request may be sent any more.

    Raises:
        ResolverError: a function that the source names cannot be loaded.
    """
    with ExitStack() as opened:
        opening = hosts_of(lake, source, batch, politeness_folder, tally=tally, safe_point=safe_point)
        http, hosts = opened.enter_context(opening)
        wiki = opened.enter_context(hosts.wiki(source.address)) if asks_its_wiki(source) else None
        store, turns = FileStore(lake), opened.enter_context(resolver_turns(source, politeness_folder))
        yield FileReader(source, chain_of(source, wiki), Fetching(hosts, store, turns), store, http)
