"""Reads a model's text as data and checks it against the schema. Text that does not fit is refused."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

# `json_repair` and `jsonschema` take a twentieth of a second to import: the first reply imports them.
if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

_INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060\u00a0\0"
"""Characters that some models write around an answer, and that JSON does not count as white space."""

_FENCED = re.compile(r"```[\w-]*\s(.*?)```", re.DOTALL)
# Texts in either quotation marks, marks of structure, and all else that stands between them.
_PIECES = re.compile(r"\"(?:\\.|[^\"\\])*+\"?|'(?:\\.|[^'\\])*+'?|[{}\[\],:]|[^\s{}\[\],:\"']+", re.DOTALL)
_VALUE = re.compile(r"-?\d[\d.eE+-]*|null|true|false")
_WORD = re.compile(r"(?!//|/\*|#)[^{}\[\],:\"']")
_MOST_DIGITS = 18  # as many as any 64-bit integer has
_MOST_BRACKETS_REPAIRED = 1_000
_MOST_CHARACTERS_REPAIRED = 50_000
"""The most characters to repair, a hundred times a usual answer: the time grows with the square."""

_MOST_SHOWN = 300
_END_SHOWN = 60


class MalformedReplyError(ValueError):
    """A reply is no JSON object."""


class RefusedValueError(MalformedReplyError):
    """A reply has a key twice, or an impossible number: a repair would have to guess."""


class InvalidAnswerError(ValueError):
    """An answer is an object that does not fit the schema; the message names the place in it."""


def read_reply(text: str) -> tuple[dict[str, Any], str]:
    """Read a reply as a JSON object.

    Args:
        text: what the model wrote.

    Returns:
        The object, and how it was read: 'direct', 'trimmed', 'fenced' or 'repaired'.

    Raises:
        MalformedReplyError: none of these gave an object.
    """
    problem = "it is empty"
    for strategy, read in _STRATEGIES:
        try:
            found = read(text)
        except RefusedValueError:
            raise
        except (ValueError, RecursionError) as error:
            problem = str(error) or "it is nested too deeply"
            continue
        if isinstance(found, dict):
            return found, strategy
        problem = f"it is {_kind(found)}, not an object"
    raise MalformedReplyError(f"the reply is no JSON object: {problem}")


def check_answer(answer: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Refuse an answer that does not fit the schema, whatever the server promised.

    Args:
        answer: as read from a reply.
        schema: a JSON schema. In addition to the standard's keywords, a text may have `maxWords`.

    Raises:
        InvalidAnswerError: names the place in the answer, and what is wrong there.
    """
    from jsonschema.exceptions import best_match  # noqa: PLC0415 - see above

    error = best_match(_validator(json.dumps(schema)).iter_errors(answer))
    if error is not None:
        place = ".".join(["answer", *map(str, error.absolute_path)])
        raise InvalidAnswerError(f"{place}: {_shortened(error.message)}")


def _direct(text: str) -> Any:
    return json.loads(
        text,
        object_pairs_hook=_without_repeats,
        parse_constant=_refuse_constant,
        parse_float=_finite,
        parse_int=_whole,
    )


def _trimmed(text: str) -> Any:
    return _direct(text.strip(_INVISIBLE + " \t\r\n\v\f"))


def _fenced(text: str) -> Any:
    blocks = _FENCED.findall(text)
    if len(blocks) > 1:
        raise RefusedValueError(f"there are {len(blocks)} fenced blocks in the reply")
    return _direct(blocks[0] if blocks else "")


def _repaired(text: str) -> Any:
    import json_repair  # noqa: PLC0415 - see above

    _refuse_what_a_repair_would_choose(text)
    if len(text) > _MOST_CHARACTERS_REPAIRED or text.count("{") + text.count("[") > _MOST_BRACKETS_REPAIRED:
        raise MalformedReplyError("it is too long, or too nested, to be repaired")
    try:
        repaired = json_repair.repair_json(text, ensure_ascii=False)
    except Exception as error:  # the library guesses, and may raise any error where it guessed wrong
        raise MalformedReplyError(f"it cannot be repaired ({type(error).__name__})") from error
    # The result is read from text once more, so that the usual checks refuse what the repair let pass.
    return _direct(repaired or "null")


def _refuse_what_a_repair_would_choose(text: str) -> None:
    """Refuse several objects, a key said twice, and words behind a number: a repair would take one."""
    said = [*_PIECES.findall(text, max(text.find("{"), 0)), ""]
    open_objects: list[set[str] | None] = []
    for place, (piece, following) in enumerate(pairwise(said)):
        if piece in {"{", "["}:
            if place and not open_objects:
                raise RefusedValueError("there are several objects in the reply")
            open_objects.append(set() if piece == "{" else None)
        elif piece in {"}", "]"} and open_objects:
            open_objects.pop()
        elif following == ":" and open_objects and open_objects[-1] is not None:
            name = piece.strip("\"'")
            if name in open_objects[-1]:
                raise RefusedValueError(f"the reply says {_shortened(repr(name))} twice in one object")
            open_objects[-1].add(name)
        elif _VALUE.fullmatch(piece) and open_objects and following and _WORD.match(following):
            raise RefusedValueError(f"the reply says {_shortened(following)} behind the value {piece}")


_STRATEGIES: tuple[tuple[str, Callable[[str], Any]], ...] = (
    ("direct", _direct),
    ("trimmed", _trimmed),
    ("fenced", _fenced),
    ("repaired", _repaired),
)


def _without_repeats(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise RefusedValueError(f"the reply says {_shortened(repr(name))} twice in one object")
        found[name] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise RefusedValueError(f"the reply holds {name}, which is no number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise RefusedValueError(f"the reply holds {_shortened(digits)}, which is too large for a number")
    return number


def _whole(digits: str) -> int:
    if len(digits.lstrip("-")) > _MOST_DIGITS:
        raise RefusedValueError(f"the reply holds {_shortened(digits)}, which is too large for a number")
    return int(digits)


def _max_words(_: "Validator", most: int, text: object, __: object) -> "Iterable[ValidationError]":
    from jsonschema import ValidationError  # noqa: PLC0415 - see above

    if isinstance(text, str) and (words := len(text.split())) > most:
        yield ValidationError(f"has {words} words; at most {most} are allowed")


@cache
def _checks() -> "type[Validator]":
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415 - see above

    checks: type[Validator] = validators.extend(  # type: ignore[no-untyped-call] # it has no types
        Draft202012Validator, {"maxWords": _max_words}
    )
    return checks


@lru_cache(maxsize=64)
def _validator(schema: str) -> "Validator":
    return _checks()(json.loads(schema), format_checker=_checks().FORMAT_CHECKER)


def _kind(value: object) -> str:
    names = {list: "a list", str: "a text", bool: "a truth value", type(None): "nothing"}
    return names.get(type(value), "a number")


def _shortened(text: str) -> str:
    if len(text) <= _MOST_SHOWN:
        return text
    return f"{text[: _MOST_SHOWN - _END_SHOWN]}...{text[-_END_SHOWN:]}"
