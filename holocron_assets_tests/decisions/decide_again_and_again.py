"""Records decisions: FOLDER, AUTHOR and how MANY are its arguments. Half are the same for all authors."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

from holocron_assets.decisions.log import new_decision, record
from holocron_assets.lake.place.paths import Lake

lake, author = Lake(Path(sys.argv[1])), sys.argv[2]
for number in range(int(sys.argv[3])):
    own = new_decision(
        "classify", author=author, reason="x", source="sample", title=f"Page {number}", value=str(number)
    )
    with patch("uuid.uuid4", lambda: UUID(int=0)):
        shared = new_decision(
            "promote",
            author="eve",
            reason="x",
            entity_id=f"entity-{number}",
            now=datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=number),
        )
    record(lake, [shared, own])
