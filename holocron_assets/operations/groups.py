"""Groups of work: commands that run one after the other, with a rule for the rest when one fails.

A group is a file. The result of each step of a run is a row, and a killed run goes on from there.
"""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StrictStr, StringConstraints, model_validator

from holocron_assets.crawl.sources.files import read_as
from holocron_assets.crawl.sources.source import NAME_PATTERN, NAME_RULE
from holocron_assets.errors import PermanentError
from holocron_assets.frozen_model import FrozenModel
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.files.parquet import read_partition, write_partition
from holocron_assets.lake.place.clock import utc_now
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import GROUP_STEPS

_Name = Annotated[StrictStr, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
_ENDED = ("done", "failed", "skipped", "canceled", "stopped")
"""States of steps that are over. Earlier versions wrote 'stopped' for 'canceled'."""

_OF_THE_REST = {"stop": "canceled", "skip": "skipped"}
"""What becomes of the steps after one that failed, by its rule."""


class Step(FrozenModel):
    """One command of a group."""

    name: _Name = Field(description="the step's name: small letters, digits and _")
    run: StrictStr = Field(description="a command without `holocron`, such as crawl --source sample")
    needs: tuple[_Name, ...] = Field(default=(), description="a list of earlier steps that this one needs")
    on_failure: Literal["stop", "continue", "skip"] = Field(
        default="stop",
        description="what becomes of later steps: stop (canceled), skip (skipped), or continue (run, except "
        "those that need this one)",
    )

    @property
    def words(self) -> list[str]:
        """The command, word by word."""
        return shlex.split(self.run)


class Group(FrozenModel):
    """A file `data/groups/NAME.yaml`."""

    title: StrictStr = Field(description="what the group is for")
    steps: tuple[Step, ...] = Field(min_length=1, description="a list of steps, in order")

    @model_validator(mode="after")
    def _needs_are_earlier_steps(self) -> Self:
        known: list[str] = []
        for step in self.steps:
            if step.name in known:
                raise ValueError(f"steps: two are called {step.name!r}")
            if unknown := [name for name in step.needs if name not in known]:
                raise ValueError(f"steps: {step.name!r} needs {unknown[0]!r}, which is no step before it")
            known.append(step.name)
        return self


def group_names(folder: Path) -> list[str]:
    """The names of all groups, sorted."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def read_group(folder: Path, name: str) -> Group:
    """Read one group.

    Raises:
        PermanentError: there is no such group, or a group's file cannot have this name.
        SourceError: its file cannot be used; names file, line and key.
    """
    names = group_names(folder)
    if name not in names:
        raise PermanentError(
            f"no group is called {name!r} in {folder}; there are {', '.join(names) or 'none'}"
        )
    if not NAME_PATTERN.fullmatch(name):
        raise PermanentError(f"{folder / name}.yaml: its name {NAME_RULE}")
    return read_as(folder / f"{name}.yaml", Group)


@dataclass
class GroupRun:
    """A run of a group: its rows of table `group_steps`, written after each change.

    Attributes:
        lake: where they are.
        group: the group.
        run_id: the run's id.
        rows: one for each step, in order.
    """

    lake: Lake
    group: Group
    run_id: str
    rows: list[dict[str, object]]

    @property
    def is_over(self) -> bool:
        """Whether every step has ended."""
        return all(row["status"] in _ENDED for row in self.rows)

    @property
    def has_failed(self) -> bool:
        """Whether any step was not done."""
        return any(row["status"] != "done" for row in self.rows)

    def work(self, run: Callable[[Step], int], report: Callable[[str], object]) -> None:
        """Run the steps that have not ended, one after the other.

        Args:
            run: runs a step's command, and returns its exit code.
            report: called with a line about each.
        """
        for step, row in zip(self.group.steps, self.rows, strict=True):
            if row["status"] in _ENDED:
                report(f"{step.name}: {row['status']} before")
                self._end(step, row)
                if self.is_over:
                    return
                continue
            if lacking := self._lacking(step):
                self._note(row, status="skipped", ended_at=utc_now())
                report(f"{step.name}: skipped, since {', '.join(lacking)} was not done")
                continue
            self._note(row, status="started", started_at=utc_now())
            report(f"{step.name}: holocron {step.run}")
            code = run(step)
            self._end(step, row, status="failed" if code else "done", exit_code=code, ended_at=utc_now())
            if code:
                report(f"{step.name}: failed with exit code {code}")
            if self.is_over:
                return

    def _lacking(self, step: Step) -> list[str]:
        """The steps that a step needs and that were not done. It comes after them."""
        statuses = {row["step"]: row["status"] for row in self.rows}
        return [name for name in step.needs if statuses[name] != "done"]

    def _end(self, step: Step, ended: dict[str, object], **changed: object) -> None:
        """Record a step's end and its effect on the rest in one write: a kill leaves both or neither."""
        ended.update(changed)
        if ended["status"] == "failed" and (status := _OF_THE_REST.get(step.on_failure)):
            for row in self.rows:
                if row["status"] == "waiting":
                    row.update(status=status, ended_at=utc_now())
        self._write()

    def _note(self, row: dict[str, object], **changed: object) -> None:
        row.update(changed)
        self._write()

    def _write(self) -> None:
        write_partition(self.lake, GROUP_STEPS, self.run_id, self.rows)


def begin_or_go_on(lake: Lake, name: str, group: Group) -> GroupRun:
    """The unfinished run of a group, if there is one with the same definition; else a new one.

    The caller ensures that no other process runs the group.
    """
    definition = content_hash(group.model_dump_json())[:16]
    last = last_run(lake, name)
    if last and last[0]["definition"] == definition:
        run = GroupRun(lake, group, str(last[0]["group_run_id"]), [dict(row) for row in last])
        if not run.is_over:
            return run
    number = int(str(last[0]["group_run_id"]).rpartition("-")[2]) + 1 if last else 1
    run_id = f"{name}-{number:06d}"
    empty = {"exit_code": None, "started_at": None, "ended_at": None}
    rows: list[dict[str, object]] = [
        {
            "group_run_id": run_id,
            "group_name": name,
            "definition": definition,
            "position": place,
            "step": step.name,
            "command": step.run,
            "status": "waiting",
            **empty,
        }
        for place, step in enumerate(group.steps, 1)
    ]
    return GroupRun(lake, group, run_id, rows)


def last_run(lake: Lake, name: str) -> Sequence[Row]:
    """The rows of a group's last run, in order; none if it was never run."""
    own = [run for run in lake.partitions(GROUP_STEPS) if run.rpartition("-")[0] == name]
    rows = read_partition(lake, GROUP_STEPS, max(own)) if own else []
    return sorted(rows, key=lambda row: int(row["position"]))
