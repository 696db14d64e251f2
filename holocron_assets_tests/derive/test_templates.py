"""Templates and conditions of interrogations: which value a name in them stands for."""

import pytest

from holocron_assets.derive.interrogations.templates import TemplateError, holds, rendered


def test_a_field_of_an_answer_comes_before_a_method_of_the_same_name() -> None:
    answer = {"values": 3, "items": ["lamp"], "keys": [], "get": "oil"}
    assert (
        rendered("{{ answer.items[0] }} {{ answer.get }} {{ answer.values }}", {"answer": answer})
        == "lamp oil 3"
    )
    assert holds("answer.values == 3", {"answer": answer})
    assert not holds("answer.keys", {"answer": answer})


def test_what_an_answer_lacks_is_an_error_and_its_methods_still_work() -> None:
    assert rendered("{{ answer.get('a') }}", {"answer": {"a": 1}}) == "1"
    with pytest.raises(TemplateError, match="nothing"):
        rendered("{{ answer.nothing }}", {"answer": {"a": 1}})
