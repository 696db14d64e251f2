"""One answer on its way to disk: checked by its headers, unpacked within a bound, and checked as a whole."""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from holocron_assets.crawl.files.transfers import kinds
from holocron_assets.crawl.files.transfers.answers import Asked, Verdict, is_encoded, verdict_of
from holocron_assets.crawl.files.transfers.parts import HEAD_BYTES, Part
from holocron_assets.crawl.http.outcomes import HttpAnswer, is_challenge

_GZIP = zlib.MAX_WBITS | 16
_GZIPPED = frozenset({"gzip", "x-gzip"})
_GZIP_TYPES = frozenset({"application/gzip", "application/x-gzip"})
_GZIP_NAMES = (".gz", ".tgz", ".svgz")
_UNPACKED_AT_ONCE = 1 << 20
_BEGUN = frozenset({"whole", "rest", "all_held"})
_VAGUE = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/binary"})


@dataclass(frozen=True)
class Wanted:
    """What a file must be, as far as its source says.

    Attributes:
        name: the artifact, for messages.
        size_bytes: its bytes; None if they are not stated.
        sha1: its SHA-1; None if it is not stated.
        sha256: its SHA-256; None if it is not stated.
        mime: its type; None if it is not stated.
        expect: the types that the source takes; any if it names none.
        max_bytes: the most bytes that it may have.
        may_be_html: whether a page for people may be what is wanted.
        is_login: whether a redirect led to what looks like a login.
    """

    name: str
    size_bytes: int | None
    sha1: str | None
    sha256: str | None
    mime: str | None
    expect: tuple[str, ...]
    max_bytes: int
    may_be_html: bool
    is_login: bool = False


@dataclass(frozen=True)
class FileReading:
    """What came for a file's request, as the rules of politeness see it.

    A host that answers at all works: only a page that asks for proof of being human counts as its failure.
    """

    is_expected: bool
    problem: str | None
    reason: str | None
    error_code: None = None


class Reception:
    """Takes one answer to a request for a file. It fits `crawl.http.streaming.Receiver`.

    Attributes:
        verdict: what the answer means; None before it came.
        headers: its headers, their names in lower case.
        status: its status; None before it came.
    """

    def __init__(self, wanted: Wanted, part: Part, asked: Asked, url: str) -> None:
        """Receive from `url` into `part`, which holds the bytes before the ones that are asked for."""
        self.verdict: Verdict | None = None
        self.headers: Mapping[str, str] = {}
        self.status: int | None = None
        self._wanted, self._part, self._asked = wanted, part, asked
        self._place = url.partition("?")[0]
        self._unpacking: _Gzip | None = None
        self._has_begun = False

    def begins(self, status: int, headers: Mapping[str, str]) -> bool:
        """Judge status and headers; return whether the body is wanted (see `Receiver`)."""
        self.status, self.headers = status, headers
        verdict = verdict_of(self._asked, status, headers)
        if verdict.kind in {"whole", "rest"}:
            verdict = refused_by_headers(verdict, headers, self._wanted) or verdict
        if verdict.kind == "rest" and self._part.side and self._part.side.place != self._place:
            # A validator is about one address: another mirror may use the same one for other bytes.
            verdict = Verdict("wrong", "range-changed", f"the rest comes from another address, {self._place}")
        if verdict.kind == "whole" and is_encoded(headers) and not self._is_packed_itself(verdict):
            self._unpacking = _Gzip()
            verdict = replace(verdict, validator=None)  # ranges would count packed bytes
        self.verdict = verdict
        return verdict.kind in {"whole", "rest"}

    def _is_packed_itself(self, verdict: Verdict) -> bool:
        """Whether a gzip is the file, though its server calls it packed for the way.

        Many servers do that to each file whose name ends in `.gz`. The length on the wire decides, and then
        what the file is called.
        """
        if None not in {self._wanted.size_bytes, verdict.length}:
            return self._wanted.size_bytes == verdict.length
        types = {self._wanted.mime, stated_type(self.headers)}
        return bool(types & _GZIP_TYPES) or self._place.lower().endswith(_GZIP_NAMES)

    def take(self, block: bytes) -> bool:
        """Store the next bytes; return whether more is wanted (see `Receiver`)."""
        self._begin()
        for data in self._unpacking.unpacked(block) if self._unpacking else (block,):
            if self._part.size + len(data) > self._wanted.max_bytes:
                return self._refuse("too-large", f"it is larger than {self._wanted.max_bytes} bytes")
            looked_at = len(self._part.head)
            self._part.write(data)
            if looked_at < HEAD_BYTES <= len(self._part.head) and (wrong := self._wrong_type()):
                self.verdict = wrong
                return False
        return not (self._unpacking and self._unpacking.problem)

    def read(self, answer: HttpAnswer) -> FileReading:
        """Judge the answer as a whole, once its body has come or broken off."""
        verdict = self.verdict or Verdict("wrong", "network-error", answer.error)
        challenged = is_challenge(answer.headers, answer.body)
        if challenged:
            verdict = Verdict("wrong", "captcha", "it wants proof that we are human")
        elif verdict.kind in _BEGUN:
            self._begin()
            verdict = self._of_broken(verdict, answer) if answer.error else self._of_whole(verdict)
        keeps_part = verdict.kind in _BEGUN or verdict.is_resumable or not self._has_begun
        if not keeps_part or verdict.reason.startswith("range-"):
            self._part.start_over()
        self.verdict = verdict
        return FileReading(not challenged, verdict.problem, verdict.reason)

    def _begin(self) -> None:
        """Decide once whether the bytes that come follow the ones that are held."""
        if self.verdict and self.verdict.kind == "whole" and not self._has_begun:
            self._part.start_over(self._place, self.verdict.validator, self.verdict.length)
        self._has_begun = True

    def _refuse(self, reason: str, problem: str) -> bool:
        self.verdict = Verdict("refused", reason, problem)
        return False

    def _of_broken(self, verdict: Verdict, answer: HttpAnswer) -> Verdict:
        is_short = verdict.kind in {"whole", "rest"} and answer.streamed_bytes < (verdict.length or 0)
        reason = "size-mismatch" if is_short else "network-error"
        return Verdict("wrong", reason, answer.error, is_resumable=True)

    def _of_whole(self, verdict: Verdict) -> Verdict:
        part, wanted = self._part, self._wanted
        if verdict.kind == "rest" and part.size < (verdict.length or 0):
            problem = f"{part.size} of {verdict.length} bytes came so far"
            return Verdict("wrong", "size-mismatch", problem, is_resumable=True)
        if verdict.kind == "rest" and part.size > (verdict.length or part.size):
            problem = f"{part.size} bytes came, and its Content-Range states {verdict.length}"
            return Verdict("wrong", "size-mismatch", problem)
        if self._unpacking and (damage := self._unpacking.end_problem()):
            return Verdict("wrong", "encoded", damage)
        if wanted.size_bytes not in {None, part.size}:
            problem = f"it has {part.size} bytes, and its source states {wanted.size_bytes}"
            return Verdict("wrong", "size-mismatch", problem)
        for kind, stated, found in (
            ("SHA-1", wanted.sha1, part.sha1),
            ("SHA-256", wanted.sha256, part.sha256),
        ):
            if stated not in {None, found}:
                problem = f"its {kind} is {found}, and its source states {stated}"
                return Verdict("wrong", "checksum-mismatch", problem)
        return self._wrong_type() or verdict

    def _wrong_type(self) -> Verdict | None:
        wanted, stated = self._wanted, stated_type(self.headers)
        mime = kinds.type_of(self._part.head, [one for one in (wanted.mime, stated) if one])
        if mime == kinds.HTML and not wanted.may_be_html:
            return _page_for_people(wanted)
        if kinds.disagrees(mime, wanted.mime):
            problem = f"its bytes are {mime}, and its source states {wanted.mime}"
            return Verdict("wrong", "type-mismatch", problem)
        if not kinds.is_expected(mime or wanted.mime or stated, wanted.expect):
            return Verdict("refused", "type-excluded", _excluded(mime or stated, wanted))
        return None


class HeadReception:
    """Takes the answer to a HEAD. It fits `crawl.http.streaming.Receiver`, and wants no body.

    Attributes:
        verdict: what the answer means; None before it came.
        headers: its headers, their names in lower case.
        status: its status; None before it came.
    """

    def __init__(self, wanted: Wanted) -> None:
        """Ask for what is wanted."""
        self.verdict: Verdict | None = None
        self.headers: Mapping[str, str] = {}
        self.status: int | None = None
        self._wanted = wanted

    def begins(self, status: int, headers: Mapping[str, str]) -> bool:
        """Judge status and headers (see `Receiver`)."""
        self.status, self.headers = status, headers
        verdict, stated = verdict_of(Asked(), status, headers), stated_type(headers)
        if verdict.kind == "whole":
            verdict = refused_by_headers(verdict, headers, self._wanted) or verdict
        if verdict.kind == "whole" and stated and not kinds.is_expected(stated, self._wanted.expect):
            verdict = Verdict("refused", "type-excluded", _excluded(stated, self._wanted))
        self.verdict = verdict
        return False

    def take(self, block: bytes) -> bool:  # noqa: ARG002 - there is no body
        """Want nothing (see `Receiver`)."""
        return False

    def read(self, answer: HttpAnswer) -> FileReading:
        """Judge the answer as a whole."""
        verdict = self.verdict or Verdict("wrong", "network-error", answer.error)
        self.verdict = verdict
        return FileReading(not is_challenge(answer.headers, answer.body), verdict.problem, verdict.reason)


def refused_by_headers(verdict: Verdict, headers: Mapping[str, str], wanted: Wanted) -> Verdict | None:
    """Why a body need not be read, by what its headers say of it; None if it is to be read."""
    encoding = headers.get("content-encoding", "").strip().lower()
    if is_encoded(headers) and encoding not in _GZIPPED:
        return Verdict("wrong", "encoded", f"it comes as {encoding[:100]!r}, which was not asked for")
    if verdict.length is not None and verdict.length > wanted.max_bytes:
        problem = f"it has {verdict.length} bytes, and at most {wanted.max_bytes} are taken"
        return Verdict("refused", "too-large", problem)
    is_known = verdict.length is not None and wanted.size_bytes is not None and not is_encoded(headers)
    if is_known and verdict.length != wanted.size_bytes:
        problem = f"it has {verdict.length} bytes, and its source states {wanted.size_bytes}"
        return Verdict("wrong", "size-mismatch", problem)
    if stated_type(headers) == kinds.HTML and not wanted.may_be_html:
        return _page_for_people(wanted)
    return None


def _page_for_people(wanted: Wanted) -> Verdict:
    why = ": a redirect led to a login" if wanted.is_login else ""
    return Verdict("wrong", "html", f"a page for people came where a file was promised{why}")


def _excluded(mime: str | None, wanted: Wanted) -> str:
    return f"it is {mime or 'of no known type'}; expected is {', '.join(wanted.expect)}"


def stated_type(headers: Mapping[str, str]) -> str | None:
    """The type that a server states, without parameters; None if it states none, or any."""
    mime = headers.get("content-type", "").partition(";")[0].strip().lower()
    return None if mime in _VAGUE else mime


class _Gzip:
    """Unpacks a body that is packed for the way, in pieces of at most a megabyte (RFC 1952)."""

    def __init__(self) -> None:
        self.problem: str | None = None
        self._member = zlib.decompressobj(_GZIP)

    def unpacked(self, block: bytes) -> Iterator[bytes]:
        while block and not self.problem:
            if self._member.eof:
                if not block.startswith(b"\x1f"):
                    return  # padding, which gzip ignores too
                self._member = zlib.decompressobj(_GZIP)
            try:
                yield self._member.decompress(block, _UNPACKED_AT_ONCE)
            except zlib.error as error:
                self.problem = f"its gzip is damaged: {error}"
            block = self._member.unconsumed_tail or self._member.unused_data

    def end_problem(self) -> str | None:
        return self.problem or (None if self._member.eof else "its gzip breaks off")
