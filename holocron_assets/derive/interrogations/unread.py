"""Interrogations that cannot be read now: they are not asked, and what is made from their answers stays."""

from collections.abc import Iterable

from holocron_assets.derive.interrogations.chains import MADE_FROM_ANSWERS
from holocron_assets.derive.interrogations.derived_tables import LAYER
from holocron_assets.derive.interrogations.interrogation import InterrogationError
from holocron_assets.derive.interrogations.loading import broken_interrogations
from holocron_assets.lake.declaration.schema import Table
from holocron_assets.lake.place.paths import Lake
from holocron_assets.settings import interrogations_folder


def refuse_broken(name: str) -> None:
    """Raise InterrogationError, with the reason, if an interrogation has a file that cannot be used."""
    if problem := broken_interrogations().get(name):
        raise InterrogationError(problem)


def refuse_unread_answers(lake: Lake, tables: Iterable[str]) -> None:
    """Refuse to make tables anew while answers that they are made from cannot be read.

    Without the interrogation's file, the columns of its answers are not known: the tables would be made as if
    nothing had been answered. Where the lake has no such answers, nothing is lost.

    Args:
        lake: where answers may be.
        tables: the tables to be made.

    Raises:
        InterrogationError: some are made from such answers; names the file and the reason.
    """
    broken = broken_interrogations()
    if not broken:
        return
    folder_problem = broken.get(str(interrogations_folder()))
    for table in tables:
        for key in MADE_FROM_ANSWERS.get(table, ()):
            problem = broken.get(key) or folder_problem
            if problem and _has_answers(lake, key):
                raise InterrogationError(
                    f"{table} stays as it is, since answers of {key} are not read: {problem}"
                )


def _has_answers(lake: Lake, key: str) -> bool:
    name = f"derived_{key}"
    return bool(lake.earlier_partitions(Table(name, LAYER, "", key=(), columns=(), folder=f"{name}-")))
