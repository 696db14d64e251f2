"""Run as a program: record HTTP requests of one scope, then die without a word."""

import os
import signal
import sys
from pathlib import Path

from test_http_log import attempt

from holocron_assets.crawl.http.log import HttpLog
from holocron_assets.lake.place.paths import Lake

if __name__ == "__main__":
    with HttpLog(Lake(Path(sys.argv[1])), sys.argv[2]) as log:
        for name in sys.argv[3:]:
            log.record(attempt(name))
        os.kill(os.getpid(), signal.SIGKILL)
