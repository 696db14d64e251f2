from pathlib import Path

import pytest

from holocron_assets.classify.rules import load_rules
from holocron_assets.classify.taxonomy import TAXONOMY_FILE, TaxonomyError, load_taxonomy, read_taxonomy


def changed_taxonomy(folder: Path, before: str, after: str) -> Path:
    text = TAXONOMY_FILE.read_text(encoding="utf-8")
    assert before in text
    path = folder / "taxonomy.yaml"
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    return path


def test_there_are_15_types_and_12_of_them_stand_for_entities() -> None:
    taxonomy = load_taxonomy()
    assert len(taxonomy.types) == 15
    assert set(taxonomy.types) - set(taxonomy.entity_worthy_types) == {
        "ReferenceMeta",
        "TechnicalSitePage",
        "Unknown",
    }


def test_only_object_artifact_is_a_kind_of_another_type() -> None:
    assert load_taxonomy().wider_types == {"ObjectArtifact": "ObjectItem"}


def test_media_and_canon_contexts_are_those_of_works() -> None:
    taxonomy = load_taxonomy()
    assert taxonomy.work_media == [
        *("film", "tv", "game", "book", "comic", "reference", "episode", "short", "other", "unknown")
    ]
    assert taxonomy.canon_contexts == ["canon", "legends", "both", "unknown"]


def test_every_type_but_unknown_has_a_rule() -> None:
    spoken_for = {rule.type for rule in load_rules().rules.values()}
    assert spoken_for == set(load_taxonomy().types) - {"Unknown"}


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ('taxonomy_version: "1"', "taxonomy_version: 1", "taxonomy_version"),
        ("work_media:", "work_mediums:", "work_media"),
        ("entity_worthy: true", "entity_worthy: perhaps", "types.PersonCharacter.entity_worthy"),
        ("kind_of: ObjectItem", "kind_of: ObjectItem\n    colour: red", "types.ObjectArtifact.colour"),
        ("kind_of: ObjectItem", "kind_of: Thing", "types.ObjectArtifact.kind_of"),
        ("  Unknown:\n", "  Unsure:\n", "types"),
    ],
)
def test_a_wrong_taxonomy_names_file_and_key(tmp_path: Path, before: str, after: str, key: str) -> None:
    path = changed_taxonomy(tmp_path, before, after)
    with pytest.raises(TaxonomyError) as caught:
        read_taxonomy(path)
    assert str(path) in str(caught.value)
    assert f"key {key}:" in str(caught.value)


def test_a_taxonomy_that_is_no_yaml_or_missing_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "taxonomy.yaml"
    with pytest.raises(TaxonomyError, match=r"taxonomy\.yaml: cannot be read"):
        read_taxonomy(path)
    path.write_text("types: [", encoding="utf-8")
    with pytest.raises(TaxonomyError, match=r"taxonomy\.yaml: cannot be read"):
        read_taxonomy(path)
