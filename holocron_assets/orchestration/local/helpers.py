"""Further processes of `holocron run`. Each takes some of its runs, since Python uses one core a process.

A run belongs to one process, so a partition still has one writer. If a helper dies, a new one does its run:
a page may have ended it, and would end the command, too. If the process that started it is gone, a helper
ends in order, as after Ctrl+C. It takes three seconds to start, so it is kept for the next shared runs; it
ends before a run that only one process can do.
"""

import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import dagster as dg

from holocron_assets.derive.opening import open_lake
from holocron_assets.interrupts import ending_by_signal
from holocron_assets.lake.attempts import MAX_ATTEMPTS
from holocron_assets.orchestration.runs.orphans import end_with
from holocron_assets.orchestration.runs.waiting import FinishedRun, LocalRuns
from holocron_assets.planning.work import Work
from holocron_assets.settings import data_folder
from holocron_assets.telemetry.logs import logger
from holocron_assets.telemetry.setup import observe_process

CRAWLERS_OF_HOST = 2
"""Processes that crawl one wiki: one fetches while the other computes. `dagster.yaml` has the same limit."""
_SECONDS_TO_END = 20
_SECONDS_BETWEEN_LOOKS = 0.2
_ASKED_TO_END = {code for number in (signal.SIGINT, signal.SIGTERM) for code in (-number, 128 + number)}
"""Exit codes of a process that a signal asked to end, before or after it could take the signal in order."""

_MOST_DEATHS = 5 * MAX_ATTEMPTS
"""Processes that one run may end before this one does it: several pages, or steps, may each end some."""

_LOG = logger(__name__)

Ended = SimpleQueue[FinishedRun]


class HelperGoneError(Exception):
    """A helper ended, although it was not asked to."""


class Helper:
    """A process that does runs, one at a time."""

    def __init__(self, tags: Mapping[str, str]) -> None:
        """Start it. Its runs have a person's `tags`."""
        own, other = socket.socketpair()
        life, self._life = os.pipe()  # the system closes our end when we are gone
        command = [sys.executable, "-m", __name__, str(other.fileno()), str(life)]
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            command,
            pass_fds=(other.fileno(), life),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        other.close()
        os.close(life)
        self._connection = Connection(own.detach())
        self._connection.send(dict(tags))

    @property
    def is_alive(self) -> bool:
        """Whether its process has not ended."""
        return self._process.poll() is None

    def was_asked_to_end(self) -> bool:
        """Whether a signal asked its process, which is gone, to end, as Ctrl+C asks all at once."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(_SECONDS_TO_END) in _ASKED_TO_END
        return False

    def finish(self, work: Work) -> FinishedRun:
        """Do a run and wait for its end.

        Raises:
            HelperGoneError: the process ended before. The work is as after a kill.
        """
        try:
            self._connection.send(work)
            finished: FinishedRun = self._connection.recv()
        except (EOFError, OSError) as error:
            raise HelperGoneError from error
        return finished

    def close(self) -> None:
        """Let it end; a run under way is ended in order."""
        os.close(self._life)
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Helpers:
    """The helpers that are there: started when they are needed, and kept until `close`."""

    def __init__(self, tags: Mapping[str, str]) -> None:
        """Have none yet. Their runs will have a person's `tags`."""
        self._tags = tags
        self._kept: list[Helper] = []
        self._lock = Lock()

    def started(self, number: int) -> Sequence[Helper]:
        """So many helpers; those that are gone are replaced."""
        for gone in [helper for helper in self._kept if not helper.is_alive]:
            self._kept.remove(gone)
            gone.close()
        while len(self._kept) < number:
            self._kept.append(Helper(self._tags))
        return self._kept[:number]

    def replaced(self, gone: Helper) -> Helper | None:
        """A new helper in the place of one that is gone; None if that one was closed, or asked to end.

        Threads may call this at once.
        """
        if gone.was_asked_to_end():
            return None
        with self._lock:
            if gone not in self._kept:
                return None
            new = self._kept[self._kept.index(gone)] = Helper(self._tags)
        gone.close()
        return new

    def close(self) -> None:
        """Let all end, as `Helper.close`."""
        while self._kept:
            with self._lock:
                helper = self._kept.pop()
            helper.close()


class _Left:
    """Work that no process has taken yet. Threads may take some at once.

    Of the work that asks one host, `CRAWLERS_OF_HOST` items are under way at most.
    """

    def __init__(self, work: Sequence[Work], startable: Callable[[Work], bool]) -> None:
        self._work, self._startable, self._lock = list(work), startable, Lock()
        self._asked = Counter[str]()

    def take(self) -> Work | None:
        with self._lock:
            while (item := self._next()) is not None:
                self._work.remove(item)
                if self._startable(item):
                    self._asked.update([item.host] if item.host else [])
                    return item
        return None

    def end(self, item: Work) -> None:
        with self._lock:
            self._asked.subtract([item.host] if item.host else [])

    def give_back(self, item: Work) -> None:
        self.end(item)
        with self._lock:
            self._work.insert(0, item)

    def _next(self) -> Work | None:
        return next((item for item in self._work if self._asked[item.host or ""] < CRAWLERS_OF_HOST), None)


def finished_together(
    runs: LocalRuns,
    work: Sequence[Work],
    startable: Callable[[Work], bool],
    helpers: Helpers,
    number: int,
) -> Iterator[FinishedRun]:
    """Do runs in this process and in helpers, each of which takes the next when it is free.

    Args:
        runs: those of this process. `starting` is called for runs of helpers, too, from another thread.
        work: in the order in which it is begun.
        startable: whether some work may be begun, asked just before; if not, it is left out.
        helpers: the further processes; closed if this ends early, since their runs would go on.
        number: how many of them are to take part.

    Yields:
        Each run soon after it ended.
    """
    left, ended = _Left(work, startable), Ended()
    with ExitStack() as stack:
        stack.callback(helpers.close)
        threads = [
            Thread(target=_give, args=(helper, helpers, runs, left, ended), daemon=True)
            for helper in helpers.started(number)
        ]
        for thread in threads:
            thread.start()
        yield from _finished_beside(threads, runs, left, ended)
        stack.pop_all()  # they are free, and kept


def _give(helper: Helper, helpers: Helpers, runs: LocalRuns, left: _Left, ended: Ended) -> None:
    """Let a helper do runs until no work is left. If it ends at one, a new helper tries that again."""
    while item := left.take():
        runs.starting(item)
        alive = _done(helper, helpers, item, ended)
        if alive is None:
            left.give_back(item)
            return
        left.end(item)
        helper = alive


def _done(helper: Helper, helpers: Helpers, item: Work, ended: Ended) -> Helper | None:
    """Have a run done; give the helper that did it, or None if none could.

    A page that ends each process is given up after some attempts, in each step that it ends; the next process
    does the run without it.
    """
    for number in range(1, _MOST_DEATHS + 1):
        try:
            ended.put(helper.finish(item))
        except HelperGoneError:
            new = helpers.replaced(helper)
            if new is None:
                return None
            _LOG.warning(
                "a process ended while it did a run", job=item.job, partition=item.partition, number=number
            )
            helper = new
        else:
            return helper
    return None


def _finished_beside(
    threads: Sequence[Thread], runs: LocalRuns, left: _Left, ended: Ended
) -> Iterator[FinishedRun]:
    """Do runs here while helpers do others; wait for them where only work of busy hosts is left."""
    yield from _finished_here(runs, left, ended)
    for thread in threads:
        while thread.is_alive():
            thread.join(_SECONDS_BETWEEN_LOOKS)
            yield from _finished_here(runs, left, ended)
    yield from _finished_here(runs, left, ended)  # work of helpers that are gone


def _finished_here(runs: LocalRuns, left: _Left, ended: Ended) -> Iterator[FinishedRun]:
    """Do runs in this process until no work is left; give those of helpers, too."""
    while item := left.take():
        yield from runs.finish([item])
        left.end(item)
        yield from _drained(runs, ended)
    yield from _drained(runs, ended)


def _drained(runs: LocalRuns, ended: Ended) -> Iterator[FinishedRun]:
    while not ended.empty():
        finished = ended.get()
        runs.ended(finished)
        yield finished


def main(connection: Connection) -> None:
    """Do the runs that come over a connection, until this process is asked to end."""
    from holocron_assets.definitions import defs  # noqa: PLC0415 - the last import, and the slowest

    tags: dict[str, Any] = connection.recv()
    with dg.DagsterInstance.get() as instance:
        runs = LocalRuns(instance, open_lake(data_folder()), cache(defs.resolve_job_def), tags=tags)
        while True:
            for finished in runs.finish([connection.recv()]):
                connection.send(finished)


if __name__ == "__main__":
    observe_process()
    with ending_by_signal():
        end_with(int(sys.argv[2]))
        main(Connection(int(sys.argv[1])))
