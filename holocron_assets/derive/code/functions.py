"""The functions that interrogations of kind `python` name, and the versions of their code."""

from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

from holocron_assets.classify.rule_file import RULES_VERSION
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.declaration.versions import code_version, module_version

if TYPE_CHECKING:  # to read pages takes libraries that only the functions need
    from holocron_assets.derive.code.given import CodeItem

CodeFunction = Callable[["CodeItem"], Iterable[Row]]
"""Makes an item's rows. It is called for one item at a time, and perhaps several times for an item."""

_GROUP = "holocron.interrogations"
MAKES_TEXT = (
    "holocron_assets.derive.evidence.page_text",
    "holocron_assets.signals.clean",
    "holocron_assets.languages.language",
)
"""The modules that make the text of a page that a function reads, or a model."""

INDEX = "holocron_assets.retrieval.index.pointer"
"""The module that says what can be found. It is quick to load, and named only, as `SEARCH` is."""

SEARCH = "holocron_assets.retrieval.evidence"
"""The module that answers searches. Its room builds on this one, so it is named only."""


class FunctionError(ValueError):
    """A function cannot be found; the message says why."""


@cache
def load_function(name: str) -> CodeFunction:
    """The function of a name.

    Args:
        name: 'package.module:function'. Its module runs when it is loaded, as any code of the project does.

    Raises:
        FunctionError: there is no such module or function, or its module fails.
    """
    try:
        found: Any = EntryPoint(name, name, _GROUP).load()
    except Exception as error:  # a module may fail in any way while it is loaded
        raise FunctionError(f"{name!r} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise FunctionError(f"{name!r} is no function, but a {type(found).__name__}")
    function: CodeFunction = found
    return function


def function_version(name: str) -> str:
    """A hash of the code that a function is in, and of that which makes the text that it reads.

    For a function of Holocron's own, that is also all it imports of its room, and the rules of types. For
    another, only its module: raise the interrogation's `version` when one of the modules that it imports
    changes.

    Args:
        name: as for `load_function`.
    """
    module = EntryPoint(name, name, _GROUP).module
    is_own = module.partition(".")[0] == __name__.partition(".")[0]
    own = f"{code_version(module)}-{RULES_VERSION}" if is_own else module_version(module)
    return f"{own}-{code_version(*MAKES_TEXT)}"
