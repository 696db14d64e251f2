"""How a table is declared: its columns, types, meaning and key. Everything else is derived from that."""

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from holocron_assets.errors import PermanentError
from holocron_assets.lake.declaration.pandas_free import keep_pandas_out
from holocron_assets.lake.declaration.values import REFUSALS, first_misfit, misfit

keep_pandas_out()

type_string = pa.string()
type_int = pa.int64()
type_float = pa.float64()
type_bool = pa.bool_()
type_time = pa.timestamp("us", tz="UTC")
type_strings = pa.list_(pa.string())
type_ints = pa.list_(pa.int64())

Row = Mapping[str, Any]


class SchemaError(PermanentError, ValueError):
    """Rows do not fit their table. Nothing was written."""


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        name: its name, the same in Parquet, SQL and Dagster.
        type: its Arrow type.
        description: what it holds, with its unit if it has one.
        nullable: whether a row may leave it empty.
        provenance: whether it says how or when the row was made. Such a column is left out of the content
            hash, so that making the same facts again counts as no change.
        added: whether it was declared after the table. Older files lack it, and are read as if it were empty.
    """

    name: str
    type: pa.DataType
    description: str
    nullable: bool = False
    provenance: bool = False
    added: bool = False


@dataclass(frozen=True)
class Table:
    """A table of the lake, declared once.

    Attributes:
        name: the asset's and the SQL view's name.
        layer: the lake folder that holds it.
        description: what one row is.
        key: the columns that identify a row inside one partition file.
        columns: the columns, in file order.
        row_group_rows: rows in a Parquet row group; few for tables of which single rows are read.
        partition_column: the column that holds the partition's name, if there is one. Only then can
            partitions be packed.
        folder: the folder of its partitions; by default it has the table's name. A table whose columns people
            may change has one folder for each set of columns, since no reader could mix them.
    """

    name: str
    layer: str
    description: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    row_group_rows: int = 100_000
    partition_column: str | None = None
    folder: str | None = None

    def __hash__(self) -> int:
        """A hash of its place. Tables are keys of what is looked up for each partition; columns are many."""
        return hash((self.layer, self.name, self.folder))

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The Arrow (and so Parquet) schema, with descriptions as field metadata."""
        return pa.schema(
            [
                pa.field(c.name, c.type, nullable=c.nullable, metadata={"description": c.description})
                for c in self.columns
            ]
        )

    @cached_property
    def _types(self) -> Mapping[str, pa.DataType]:
        return {c.name: c.type for c in self.columns}

    @cached_property
    def added_columns(self) -> list[str]:
        """Names of the columns that older files lack."""
        return [c.name for c in self.columns if c.added]

    @cached_property
    def content_columns(self) -> list[str]:
        """Names of the columns without provenance columns."""
        return [c.name for c in self.columns if not c.provenance]

    def to_arrow(self, rows: Sequence[Row], partition: str, first_row: int = 0) -> pa.Table:
        """Turn rows into a validated Arrow table.

        Args:
            rows: mappings with exactly the declared columns; nullable ones may be absent.
            partition: the name to use in errors.
            first_row: the number of the first of these rows in the partition, for errors.

        Returns:
            The rows in the table's schema.

        Raises:
            SchemaError: a column is unknown or missing, a type is wrong, a required value is empty or a key
                is repeated. It names table, partition, column and the first wrong row.
        """
        self._refuse_unknown_columns(rows, partition, first_row)
        arrays = [self._array(column, rows, partition, first_row) for column in self.columns]
        table = pa.Table.from_arrays(arrays, schema=self.arrow_schema)
        self.check(table, partition, first_row)
        return table

    def revive(self, record: Row) -> dict[str, Any]:
        """Turn a row from JSON back into the declared types: times become datetimes again."""
        return {name: _revived(value, self._types.get(name)) for name, value in record.items()}

    def check(self, table: pa.Table, partition: str, first_row: int = 0) -> None:
        """Raise SchemaError unless columns, types, required values and unique keys are as declared."""
        self._refuse_other_columns(table, partition)
        for column in self.columns:
            values = table.column(column.name)
            if not column.nullable and values.null_count:
                row = pc.index(pc.is_null(values), value=True).as_py()
                raise self._error(partition, f"column {column.name!r} is empty in row {first_row + row}")
        if self.key and table.num_rows:
            counts = table.select(list(self.key)).group_by(list(self.key)).aggregate([([], "count_all")])
            repeated = counts.filter(pc.greater(counts.column("count_all"), 1))
            if repeated.num_rows:
                raise self._error(partition, f"key {self.key} repeats: {repeated.slice(0, 3).to_pylist()}")

    def _refuse_unknown_columns(self, rows: Iterable[Row], partition: str, first_row: int) -> None:
        known = {c.name for c in self.columns}
        for number, row in enumerate(rows, first_row):
            if not row.keys() <= known:
                unknown = sorted(map(str, row.keys() - known))
                raise self._error(partition, f"row {number} has undeclared columns {unknown}")

    def _refuse_other_columns(self, table: pa.Table, partition: str) -> None:
        declared = sorted(column.name for column in self.columns)
        if declared != sorted(table.column_names):
            raise self._error(partition, f"columns are {sorted(table.column_names)} instead of {declared}")
        for column in self.columns:
            found = table.schema.field(column.name).type
            if not _same_type(found, column.type):
                raise self._error(partition, f"column {column.name!r} is not {column.type} but {found}")

    def _array(self, column: Column, rows: Sequence[Row], partition: str, first_row: int) -> pa.Array:
        values = [row.get(column.name) for row in rows]
        if misfit(values, column.type) is None:
            with suppress(*REFUSALS):
                return pa.array(values, type=column.type)
        row, problem = first_misfit(values, column.type)
        raise self._error(
            partition,
            f"column {column.name!r} is not {column.type} in row {first_row + row}, "
            f"which holds {reprlib.repr(values[row])}: {problem}",
        )

    def _error(self, partition: str, problem: str) -> SchemaError:
        return SchemaError(f"table {self.name}, partition {partition!r}: {problem}")


def _same_type(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether two types are the same apart from the name of a list's items, which Parquet does not keep."""
    if pa.types.is_list(one) and pa.types.is_list(other):
        return _same_type(one.value_type, other.value_type)
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        return [field.name for field in one] == [field.name for field in other] and all(
            _same_type(left.type, right.type) for left, right in zip(one, other, strict=True)
        )
    return bool(one == other)


def _revived(value: Any, kind: pa.DataType | None) -> Any:
    """A value from JSON in its declared type, also within lists and structs."""
    if value is None or kind is None:
        return value
    if pa.types.is_timestamp(kind):
        return datetime.fromisoformat(value)
    if pa.types.is_list(kind) and pa.types.is_nested(kind.value_type):
        return [_revived(item, kind.value_type) for item in value]
    if pa.types.is_struct(kind):
        return {field.name: _revived(value.get(field.name), field.type) for field in kind}
    return value
