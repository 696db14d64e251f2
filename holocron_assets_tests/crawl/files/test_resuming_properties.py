"""Whatever breaks off and whatever changes: the bytes are those of one version, or there are none."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from examples import examples
from fetching_rig import SwiftClock, rigged
from file_server import Asked, Behaviour, FileServer, Wire, close, file, head
from hypothesis import given, settings
from hypothesis import strategies as st

from holocron_assets.crawl.errors import HostBusy

SIZES = (700_000, 700_000, 650_000)
VERSIONS = [b"%PDF-1.7\n" + bytes([number]) * size for number, size in enumerate(SIZES)]
"""Versions of a file, two of which are of one length."""


@dataclass(frozen=True)
class Answer:
    """One answer of a server that is honest and weak.

    Attributes:
        version: which version it has.
        dies_after: bytes of the body that it sends; all if None.
        knows_ranges: whether it gives the rest of a file.
        is_strong: whether its ETags are strong ones.
    """

    version: int
    dies_after: int | None
    knows_ranges: bool
    is_strong: bool


ANSWERS = st.builds(
    Answer, st.integers(0, 2), st.none() | st.integers(0, 700_000), st.booleans(), st.booleans()
)


def behaving(answer: Answer) -> Behaviour:
    """The server's behaviour for one request."""
    content = VERSIONS[answer.version]
    etag = f'{"" if answer.is_strong else "W/"}"v{answer.version}"'

    def behave(wire: Wire, asked: Asked) -> None:
        matches = answer.knows_ranges and asked.start and asked.headers.get("if-range") == etag
        if answer.dies_after is None:
            file(content, etag)(wire, asked if matches else Asked(asked.verb, asked.path, {}))
            return
        start = min(asked.start, len(content)) if matches else 0
        said: dict[str, object] = {"ETag": etag, "Content_Length": len(content) - start}
        if start:
            said["Content_Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        wire.sendall(head(206 if start else 200, said) + content[start : start + answer.dies_after])
        close(wire)

    return behave


@pytest.fixture(scope="module")
def server() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server


@pytest.mark.system
@settings(max_examples=examples(40))
@given(answers=st.lists(ANSWERS, min_size=1, max_size=9))
def test_the_bytes_are_those_of_one_version(answers: list[Answer], server: FileServer) -> None:
    last = Answer(2, None, knows_ranges=True, is_strong=True)
    url = server.serve("/file.pdf", *map(behaving, [*answers, last]))
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patching:
        clock = SwiftClock(patching)
        for _ in range(len(answers) + 1):  # each time as a process of its own
            clock.sleep(100_000)
            with rigged(Path(folder)) as rig:
                try:
                    made = rig.fetch(url)
                except HostBusy:
                    continue
                objects = rig.objects()
                assert all(content in VERSIONS for content in objects)
                if made.is_ok:
                    break
        assert len(objects) == 1
        assert rig.parts() == []
