"""Lets the tests of this room share `signal_pages`: pytest's importlib mode puts no folder on the path."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
