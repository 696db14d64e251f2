"""Run as a program: list an export, with a checkpoint every 64 KiB, and die after so many bytes of it."""

import os
import signal
import sys
from collections.abc import Generator, Iterable
from pathlib import Path
from unittest.mock import patch

from crawl_rows import dump_source

from holocron_assets.crawl.dumps import listing as dump_listing
from holocron_assets.crawl.dumps.parser import PageParser, parse_pages
from holocron_assets.crawl.sources.seeds import store_seeds, store_site
from holocron_assets.lake.place.paths import Lake

if __name__ == "__main__":
    lake, source, most_bytes = Lake(Path(sys.argv[1])), dump_source(Path(sys.argv[2])), int(sys.argv[3])

    def dying(path: Path, chunks: Iterable[bytes], parser: PageParser) -> Generator[bytes]:
        parsed = 0
        for chunk in parse_pages(path, chunks, parser):
            parsed += len(chunk)
            if parsed >= most_bytes:
                os.kill(os.getpid(), signal.SIGKILL)
            yield chunk

    # small exports shall have checkpoints
    with (
        patch.object(dump_listing, "parse_pages", dying),
        patch.multiple(dump_listing, _CHECKPOINT_BYTES=1 << 16, _PLACE_SPACING_BYTES=1 << 16),
    ):
        store_site(lake, source, None)
        store_seeds(lake, source, None)
