"""What is fuzzed: each target takes bytes, reads them as a parser of Holocron does, and checks the outcome.

`fuzz.py` makes up the bytes, `test_fuzz_replay.py` replays those that are kept.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import dump_target
import reply_target
import wiki_answer_target
import wikitext_target

FOLDER = Path(__file__).parent


class Target(NamedTuple):
    """A parser under fuzz.

    Attributes:
        check: reads bytes and checks what comes of them. Whatever it raises is a finding.
        longest: bytes of the longest input that the fuzzer makes up.
    """

    check: Callable[[bytes], None]
    longest: int = 4_096


TARGETS: Mapping[str, Target] = {
    "wikitext": Target(wikitext_target.check_page),
    "dates": Target(wikitext_target.check_dates, longest=400),
    "dump": Target(dump_target.check_export, longest=8_192),
    "packed_dump": Target(dump_target.check_packed, longest=2_048),
    "reply": Target(reply_target.check_reply),
    "quote": Target(reply_target.check_quote, longest=1_024),
    "wiki_answer": Target(wiki_answer_target.check_answer),
}

SECONDS_AN_INPUT = 5.0
"""What one input may take, in seconds of the processor: a hundred times what the slowest of ours takes."""


def inputs_of(name: str) -> list[Path]:
    """What is replayed for a target: what the fuzzer starts from, and what it once found."""
    return sorted(file for kind in ("corpus", "findings") for file in (FOLDER / kind / name).glob("*"))
