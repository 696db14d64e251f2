"""Run as a program: ADDRESS; imports Holocron once, and forks a process for each life of a history.

A life is one process, as `holocron` is: it keeps its caches from one command to the next, and dies by SIGKILL
at a commit point if it is told to. A request and its answer are a line of JSON each, on a Unix socket. The
program ends when its standard input does, a life when its connection does.
"""

import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import time_machine
from click.testing import CliRunner
from dying_at_points import Points, watch
from waited import Waited

from holocron_assets.classify.rules import load_rules
from holocron_assets.cli.main import main as holocron
from holocron_assets.cli.work import local_run
from holocron_assets.crawl.politeness import limits
from holocron_assets.decisions.log import all_decisions, undone
from holocron_assets.derive.opening import open_lake
from holocron_assets.entities.facts.rules import load_rule_book
from holocron_assets.entities.facts.sentences import load_sentences
from holocron_assets.entities.facts.stated_keys import load_keys
from holocron_assets.entities.identity.policy import shipped_policy
from holocron_assets.lake.files.parquet import read_footer, read_partition, write_partition
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_TYPES, SITES
from holocron_assets.lake.views import spilling
from holocron_assets.lake.views.database import connect, query
from holocron_assets.orchestration.internals.instance import open_instance
from holocron_assets.orchestration.local import run as local
from holocron_assets.orchestration.model_runs.what_to_ask import WhatToAsk
from holocron_assets.planning import loop
from holocron_assets.planning.work import search_to_update
from holocron_assets.settings import data_folder, infobox_rules_folder

_PAGES = "select title, page_id || '@' || revision_id as key from current_pages where status = 'ok'"
_TYPES = "select title, primary_type, method, confidence, model_type, rules_type from page_types"
_ENTITIES = """
    select entity_id, entity_type, title, page_id, state, state_by, merged_into, method, review_reason
    from entities
"""
_TWICE = """
    select entity_id from lake.entities where valid_to is null and state <> 'suppressed'
    group by all having count(*) > 1
"""
_FACTS = """
    select fact_id, entity_id, fact_key, value, status, title
    from all_entity_facts
    where fact_key like 'emblem%'
    order by title, fact_id
"""
_DEAD = "select distinct title from dead_letters"
_SEEN = {"pages": _PAGES, "types": _TYPES, "entities": _ENTITIES, "twice": _TWICE, "facts": _FACTS}
_RELATIONS = ("current_pages", "page_types", "entities", "all_entity_facts", "lake.entities", "dead_letters")
_EARLIER = replace(PAGE_TYPES, columns=tuple(column for column in PAGE_TYPES.columns if not column.added))


class Life:
    """What one process does for a history."""

    def __init__(self, skew: float, waited: Waited) -> None:
        """Live with a clock that is so many seconds ahead; a wait takes no time, but moves the clock."""
        now = datetime.now().astimezone()
        self._waited = waited
        ahead = timedelta(seconds=skew + waited.seconds)
        self._clock = time_machine.travel(now + ahead, tick=True).start()
        vars(local)["sleep"] = self._wait
        vars(limits)["time"] = SimpleNamespace(monotonic=time.monotonic, sleep=self._wait)
        spilling.THREADS = 1  # a database of one thread is open in half the time
        # What is printed, checked, searched and shown of the same tables takes half of a run's time.
        vars(local)["views_to_publish"] = lambda *_: []
        vars(loop)["KNOWLEDGE"] = tuple(find for find in loop.KNOWLEDGE if find is not search_to_update)
        setattr(local.LocalRun, "_check", lambda _: None)  # noqa: B010 - it is no public method

    def _wait(self, seconds: float) -> None:
        self._waited.add(seconds)
        self._clock.shift(seconds)

    def command(self, *arguments: str) -> dict[str, Any]:
        """Do a command of `holocron`."""
        done = CliRunner().invoke(holocron, list(arguments))
        failed = done.exception and not isinstance(done.exception, SystemExit)
        said = "".join(traceback.format_exception(done.exception)) if failed else ""
        return {"code": done.exit_code, "said": done.output + said}

    def ask_about_pairs(self) -> bool:
        """Let the model say whether pairs are one, as a dispatcher's run does; whether that went well."""
        asked = WhatToAsk(interrogations=["identity_check"]).run_config()
        job = local_run.definitions().resolve_job_def("derive_by_type")
        with open_instance() as instance:
            return job.execute_in_process(run_config=asked, instance=instance, raise_on_error=False).success

    def dies(self, at: int, when: str, match: str, folder: str) -> None:
        """Die at a commit point of the next command."""
        watch(Points(match, at, when, folder))

    def age(self) -> int:
        """Leave page types as an earlier version of the code would have; say how many files."""
        lake = _lake()
        names = [column.name for column in _EARLIER.columns]
        for name in (partitions := lake.partitions(PAGE_TYPES)):
            rows = [
                {column: row[column] for column in names} for row in read_partition(lake, PAGE_TYPES, name)
            ]
            footer = read_footer(lake, PAGE_TYPES, name)
            assert footer
            write_partition(lake, _EARLIER, name, rows, code_version="earlier", inputs=footer.inputs)
        return len(partitions)

    def look(self) -> dict[str, Any]:
        """What the lake says."""
        lake = _lake()
        made = all_decisions(lake)
        gone = undone(made)
        with connect(lake, relations=_RELATIONS) as connection:
            seen: dict[str, Any] = {name: query(connection, sql) for name, sql in _SEEN.items()}
            seen["pages"] = {row["title"]: row["key"] for row in seen["pages"]}
            seen["dead"] = [row["title"] for row in query(connection, _DEAD)]
        seen["knows_site"] = bool(lake.partitions(SITES))
        seen["decisions"] = [
            [row["decision_id"], row["kind"], row["decision_id"] not in gone] for row in made
        ]
        return seen

    def files(self) -> list[str]:
        """The files of tables, below the data folder."""
        lake = _lake()
        return sorted(str(file.relative_to(lake.root)) for file in lake.files())


def _lake() -> Lake:
    return open_lake(data_folder())


def serve(connection: socket.socket, life: Life) -> None:
    """Answer one life's requests until there are no more."""
    with connection, connection.makefile("rw", encoding="utf-8") as lines:
        for line in lines:
            do, *given = json.loads(line)
            try:
                answer = {"is": getattr(life, do)(*given)}
            except Exception:  # noqa: BLE001 - the history shows it
                answer = {"raised": traceback.format_exc()}
            lines.write(f"{json.dumps(answer, default=str)}\n")
            lines.flush()


def prepare() -> None:
    """Make once what each life would: the definitions, and what they read of the larger YAML files."""
    local_run.definitions()
    load_rules()
    load_rule_book("live", infobox_rules_folder())
    load_keys()
    load_sentences()
    shipped_policy()


def main(address: str) -> None:
    """Fork a life for each connection. It says first by how many seconds its clock is wrong."""
    prepare()
    modules = Path(f"{address}.modules")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{address}.new")
        door.listen()
        Path(f"{address}.new").rename(address)  # who finds it can connect to it
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            readable, _, _ = select.select([door, sys.stdin], [], [])
            if sys.stdin in readable:
                return
            connection, _ = door.accept()
            import_all(modules)
            if not os.fork():
                try:
                    door.close()
                    live(connection, Waited(Path(address).parent))
                    modules.write_text("\n".join(sorted(sys.modules)), encoding="utf-8")
                finally:
                    os._exit(0)  # by Python's way out, it would wait for threads that only its parent has
            connection.close()


def import_all(modules: Path) -> None:
    """Import what the last life imported, so that the next ones need not: it takes a tenth of their time."""
    if modules.exists():
        for name in set(modules.read_text(encoding="utf-8").split()) - sys.modules.keys():
            with suppress(ImportError):
                import_module(name)
        modules.unlink()


def live(connection: socket.socket, waited: Waited) -> None:
    """Live the life that a connection is for."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    skew = float(connection.recv(32).decode())
    connection.sendall(b"\n")
    serve(connection, Life(skew, waited))


if __name__ == "__main__":
    main(*sys.argv[1:])
