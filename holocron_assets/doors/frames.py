"""What is known, as pandas data frames: the door for notebooks."""

import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from holocron_assets.derive.opening import open_lake
from holocron_assets.doors import questions
from holocron_assets.doors.asking_sql import ask_sql
from holocron_assets.doors.explaining import all_sources, reports_on
from holocron_assets.doors.narrowing import STATES, check_narrowing
from holocron_assets.doors.questions import Some, ViewQuery, entity_called
from holocron_assets.errors import PermanentError
from holocron_assets.lake.place.mounts import refuse_unmounted
from holocron_assets.lake.views.database import arrow
from holocron_assets.retrieval.asking import server_for_queries
from holocron_assets.retrieval.search import searcher_of
from holocron_assets.settings import data_folder, state_folder


class Holocron:
    """What a Holocron knows, read anew at each call. Nothing is changed by it."""

    def __init__(self, data: str | Path | None = None) -> None:
        """Open a data folder.

        Args:
            data: the data folder; by default HOLOCRON_DATA, or the project's own.

        Raises:
            PermanentError: there is no such folder, or its disk is not mounted.
        """
        folder = Path(data).resolve() if data else data_folder()
        refuse_unmounted(folder, state_folder())
        if not folder.is_dir():
            raise PermanentError(f"{folder} is no folder: give the data folder, or set HOLOCRON_DATA")
        self._lake = open_lake(folder)

    def entities(
        self,
        *,
        type: Some = None,  # noqa: A002 - what it is called everywhere
        state: Some = None,
        source: Some = None,
        continuity: Some = None,
    ) -> pd.DataFrame:
        """Rows of the view `entities`, by name. Each argument takes one value or several.

        Args:
            type: such as 'Droid'.
            state: such as 'promoted'. By default all are there, also suppressed and merged ones.
            source: names of sources.
            continuity: such as 'canon'.

        Raises:
            NarrowingError: there is no such type, state, source or continuity.
        """
        narrowed = {"type": type, "state": state, "source": source, "continuity": continuity}
        check_narrowing(self._lake, narrowed, STATES)
        return self._frame(questions.entities(type, state, source, continuity))

    def facts(
        self,
        entity: str | None = None,
        *,
        key: Some = None,
        type: Some = None,  # noqa: A002 - the same
    ) -> pd.DataFrame:
        """Rows of the view `entity_facts`, with the entity's name.

        Args:
            entity: its id, title or name; all by default.
            key: such as 'homeworld'.
            type: types of the entities.

        Raises:
            NoEntityError: there is no such entity.
        """
        check_narrowing(self._lake, {"type": type})
        return self._frame(questions.facts(self._id_of(entity), key, type))

    def relations(
        self,
        entity: str | None = None,
        *,
        relation: Some = None,
        type: Some = None,  # noqa: A002 - the same
    ) -> pd.DataFrame:
        """Rows of the view `entity_relations`, with the name of the entity that each is of.

        Args:
            entity: id, title or name of the entity at either end; all by default.
            relation: such as 'member_of'.
            type: types of the entities that they are of.

        Raises:
            NoEntityError: there is no such entity.
        """
        check_narrowing(self._lake, {"type": type})
        return self._frame(questions.relations(self._id_of(entity), relation, type))

    def page(self, title: str, *, source: str | None = None) -> dict[str, Any]:
        """All that is known of a page, as `holocron page` tells it: a frame for each topic.

        Args:
            title: its title.
            source: its source; needed if several sources have a page of this title.

        Raises:
            NoPageError: there is no such page.
            PermanentError: several sources have one.
        """
        reports = reports_on(self._lake, all_sources(), title, source)
        if len(reports) > 1:
            names = ", ".join(report["source"] for report in reports)
            raise PermanentError(f"several sources have a page {title!r}: give one of them, source={names}")
        return {
            name: pd.DataFrame(topic) if isinstance(topic, list) else topic
            for name, topic in reports[0].items()
        }

    def search(self, text: str, limit: int = 10, **narrowing: Some) -> pd.DataFrame:
        """Passages, the best first, as `holocron search` finds them.

        It warns if passages cannot be searched by meaning.

        Args:
            text: words, a name or a question.
            limit: the most passages.
            narrowing: one value or several of `type`, `state`, `source` or `continuity`.

        Raises:
            SearchError: nothing is indexed yet, or it is narrowed by something else.
            NarrowingError: there is no such type, state, source or continuity.
        """
        wanted = {
            name: [value] if isinstance(value, str) else value for name, value in narrowing.items() if value
        }
        check_narrowing(self._lake, wanted)
        with server_for_queries():
            found = searcher_of(self._lake).search(text, limit, wanted=wanted)
        if found.without_meaning:
            warnings.warn(f"not searched by meaning: {found.without_meaning}", stacklevel=2)
        return pd.DataFrame([hit.to_json() for hit in found.hits])

    def sql(self, sql: str) -> pd.DataFrame:
        """The result of a query (DuckDB) over all views; 'show tables' names them.

        Args:
            sql: the query.
        """
        return _frame(ask_sql(self._lake, all_sources(), sql, arrow))

    def _frame(self, wanted: ViewQuery) -> pd.DataFrame:
        return _frame(wanted.table(self._lake))

    def _id_of(self, entity: str | None) -> str | None:
        return None if entity is None else str(entity_called(self._lake, entity)["entity_id"])


def _frame(table: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(types_mapper=_type_with_gaps)
    return frame


def _type_with_gaps(column: pa.DataType) -> pd.Int64Dtype | pd.BooleanDtype | None:
    """Whole numbers and truth values stay what they are where some are missing."""
    if pa.types.is_integer(column):
        return pd.Int64Dtype()
    return pd.BooleanDtype() if pa.types.is_boolean(column) else None
