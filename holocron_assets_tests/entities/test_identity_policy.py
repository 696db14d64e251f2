"""The identity policy's file."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from holocron_assets.entities.data_files import DataFileError
from holocron_assets.entities.identity.policy import DEFAULT_IDENTITY_FILE, load_identity_policy
from holocron_assets.lake.files.people_yaml import load_yaml


def written(folder: Path, **changes: Any) -> Path:
    content = load_yaml(DEFAULT_IDENTITY_FILE.read_text(encoding="utf-8"))
    file = folder / "identity.yaml"
    file.write_text(yaml.safe_dump({**content, **changes}, sort_keys=False), encoding="utf-8")
    return file


def fuzzy(**types: Any) -> dict[str, Any]:
    default = load_yaml(DEFAULT_IDENTITY_FILE.read_text(encoding="utf-8"))["fuzzy"]["default"]
    return {"default": default, "types": types}


def test_the_policy_that_comes_with_the_project_is_valid() -> None:
    policy = load_identity_policy(DEFAULT_IDENTITY_FILE, {"PersonCharacter"})
    assert policy.author == f"policy:{policy.id}"


def test_a_type_takes_what_it_does_not_say_from_the_default(tmp_path: Path) -> None:
    policy = load_identity_policy(
        written(tmp_path, fuzzy=fuzzy(Character={"same": 0.99})), {"Character", "PersonCharacter"}
    )
    of_type, default = policy.fuzzy_of("Character"), policy.fuzzy_of("Species")
    assert (of_type.same, of_type.unsure) == (0.99, default.unsure)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": "Not An Id"}, "id:"),
        ({"margin": 2}, "margin:"),
        ({"exact": {}}, "exact.alias is missing"),
        (
            {"fuzzy": fuzzy(Character={"same": 0.5})},
            "fuzzy.types.Character: same (0.5) is below",
        ),
        ({"fuzzy": fuzzy(Character={"sure": 0.5})}, "fuzzy.types.Character.sure:"),
        ({"fuzzy": fuzzy(Planet={"same": 0.99})}, "fuzzy.types.Planet: no entity-worthy type"),
        ({"fuzzy": []}, "fuzzy:"),
        ({"wrods": {}}, "wrods:"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_key(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    file = written(tmp_path, **changes)
    with pytest.raises(DataFileError) as caught:
        load_identity_policy(file, {"Character", "PersonCharacter"})
    assert str(caught.value).startswith(f"{file}: ")
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["", "- a\n", "id: [\n"])
def test_a_file_that_holds_no_policy_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "identity.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataFileError, match=r"identity\.yaml: "):
        load_identity_policy(file, set())
    with pytest.raises(DataFileError, match="not a readable YAML file"):
        load_identity_policy(tmp_path / "none.yaml", set())
