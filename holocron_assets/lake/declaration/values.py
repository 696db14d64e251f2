"""Which Python values a column takes. Arrow would convert many other values without a warning."""

from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from operator import attrgetter
from typing import Any

import pyarrow as pa

REFUSALS = (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError, OverflowError)
"""Arrow's errors for a value of the right type that it cannot hold, such as a number that is too large."""

_EMPTY = type(None)
_SCALARS = {
    pa.string(): (str,),
    pa.int64(): (int,),
    pa.float64(): (float, int),
    pa.bool_(): (bool,),
}


def misfit(values: Sequence[Any], kind: pa.DataType) -> str | None:
    """Say what is wrong with the values of a column; None if all fit.

    It checks whole columns, not single values, since every row of the lake passes here. None is an empty
    value and fits, also in a struct's field; a list's items are never empty.

    Args:
        values: the column's values.
        kind: the column's Arrow type: text, whole numbers, numbers (which may be whole), truth values, times
            (datetimes with a time zone), and lists and structs of these.
    """
    kinds = set(map(type, values))
    wrong = sorted(found.__name__ for found in kinds - {_EMPTY} if not issubclass(found, _python_types(kind)))
    if not pa.types.is_boolean(kind) and bool in kinds:
        wrong.append("bool")
    if wrong:
        return f"a value is of type {wrong[0]}"
    if _EMPTY in kinds:
        values = [value for value in values if value is not None]
    if pa.types.is_timestamp(kind):
        return _time_misfit(values)
    if pa.types.is_list(kind):
        return _item_misfit(values, kind)
    if pa.types.is_struct(kind):
        return _field_misfit(values, kind)
    return None


def first_misfit(values: Sequence[Any], kind: pa.DataType) -> tuple[int, str]:
    """Position of the first value that does not fit or that Arrow cannot hold, and what is wrong with it.

    Args:
        values: the column's values, of which at least one does not fit.
        kind: the column's Arrow type.
    """
    problems = (misfit([value], kind) or _refusal(value, kind) for value in values)
    return next((row, problem) for row, problem in enumerate(problems) if problem)


def _python_types(kind: pa.DataType) -> tuple[type, ...]:
    if pa.types.is_timestamp(kind):
        return (datetime,)
    if pa.types.is_list(kind):
        return (list, tuple)
    if pa.types.is_struct(kind):
        return (dict,)
    return _SCALARS[kind]


def _time_misfit(values: Sequence[datetime]) -> str | None:
    if any(found is not datetime for found in set(map(type, values))):
        return "a time is not a plain datetime"  # times of pandas are finer than microseconds, or NaT
    if None in set(map(attrgetter("tzinfo"), values)):
        return "a time has no time zone"
    return None


def _item_misfit(values: Sequence[Sequence[Any]], kind: pa.ListType) -> str | None:
    items = list(chain.from_iterable(values))
    if _EMPTY in set(map(type, items)):
        return "an item is empty"
    problem = misfit(items, kind.value_type)
    return problem and f"in an item, {problem}"


def _field_misfit(values: Sequence[dict[str, Any]], kind: pa.StructType) -> str | None:
    names = {field.name for field in kind}
    for value in values:
        if value.keys() != names:
            return f"the fields are {sorted(map(str, value))} instead of {sorted(names)}"
    for field in kind:
        if problem := misfit([value[field.name] for value in values], field.type):
            return f"in field {field.name!r}, {problem}"
    return None


def _refusal(value: object, kind: pa.DataType) -> str | None:
    try:
        pa.array([value], type=kind)
    except REFUSALS as error:
        return str(error)
    return None
