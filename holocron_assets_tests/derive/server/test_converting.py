"""Model files that are made of published weights."""

import os
from pathlib import Path

import gguf
import numpy as np
import pytest
from safetensors.numpy import save_file

from holocron_assets.derive.engine.official_client import ollama
from holocron_assets.derive.server.errors import ModelFileError
from holocron_assets.derive.server.model_files import converting
from holocron_assets.derive.server.model_files.catalog import Model, Weights, shipped_catalog
from holocron_assets.derive.server.model_files.converting import convert_weights
from holocron_assets.derive.server.model_files.fetching import own_model_files
from holocron_assets.derive.server.model_files.files import ModelFiles
from holocron_assets.derive.server.model_files.sources import ModelSourceError, no_report, sha256_of
from holocron_assets.derive.server.process.connection import model_server

SHIPPED = shipped_catalog().find("all-minilm:22m")
_WIDTH, _INNER = 32, 64
_WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "salt", "##y"]


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """A tiny model of one layer, as its authors publish it; a package holds it."""
    draw = np.random.default_rng(7)
    shapes = {
        "embeddings.word_embeddings.weight": (len(_WORDS), _WIDTH),
        "embeddings.position_embeddings.weight": (16, _WIDTH),
        "embeddings.token_type_embeddings.weight": (2, _WIDTH),
        "embeddings.LayerNorm.weight": (_WIDTH,),
        "encoder.layer.0.attention.self.query.weight": (_WIDTH, _WIDTH),
        "encoder.layer.0.intermediate.dense.weight": (_INNER, _WIDTH),
        "encoder.layer.0.intermediate.dense.bias": (_INNER,),
        "pooler.dense.weight": (_WIDTH, _WIDTH),
    }
    tensors, words = tmp_path / "model.safetensors", tmp_path / "vocab.txt"
    save_file({name: draw.standard_normal(shape, np.float32) for name, shape in shapes.items()}, tensors)
    words.write_text("\n".join([*_WORDS, ""]), encoding="utf-8")
    weights = Weights(
        sha256=sha256_of(tensors),
        repository="nobody/nothing",
        file=tensors.name,
        vocabulary=words.name,
        vocabulary_sha256=sha256_of(words),
        package="nothing==1",
    )
    monkeypatch.setattr(converting, "_from_hub", lambda *_: (tensors, words))
    return SHIPPED.model_copy(update={"weights": weights, "context_length": 16, "embedding_length": _WIDTH})


def test_the_file_has_the_weights_under_the_names_of_llama_cpp(published: Model, tmp_path: Path) -> None:
    reader = gguf.GGUFReader(convert_weights(published, tmp_path, no_report))
    kinds = {tensor.name: tensor.tensor_type.name for tensor in reader.tensors}
    assert kinds == {
        "token_embd.weight": "Q8_0",
        "position_embd.weight": "F32",
        "token_types.weight": "F32",
        "token_embd_norm.weight": "F32",
        "blk.0.attn_q.weight": "Q8_0",
        "blk.0.ffn_up.weight": "Q8_0",
        "blk.0.ffn_up.bias": "F32",
    }
    assert reader.get_field("bert.block_count").contents() == 1  # type: ignore[union-attr]
    words = reader.get_field("tokenizer.ggml.tokens").contents()  # type: ignore[union-attr]
    assert words[-2:] == ["\u2581salt", "y"]


def test_the_same_weights_make_the_same_file(published: Model, tmp_path: Path) -> None:
    first = sha256_of(convert_weights(published, tmp_path, no_report))
    assert sha256_of(convert_weights(published, tmp_path, no_report)) == first


def test_other_weights_are_refused(published: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(_model: Model, weights: Weights, *_: object) -> tuple[Path, Path]:
        (tmp_path / "model.safetensors").write_bytes(b"something else")
        return converting._checked(weights, tmp_path / "model.safetensors", tmp_path / "vocab.txt")  # noqa: SLF001

    monkeypatch.setattr(converting, "_from_hub", other)
    monkeypatch.setattr(converting, "_from_package", other)
    with pytest.raises(ModelSourceError, match=r"model\.safetensors had the sha256"):
        convert_weights(published, tmp_path, no_report)


def test_a_file_of_another_kind_is_not_used(published: Model, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="had another sha256"):
        ModelFiles(tmp_path / "models").fetch(published, sources=(convert_weights,))


@pytest.mark.system
def test_the_shipped_model_is_made_of_its_weights_and_knows_what_is_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_model_files().fetch(SHIPPED)
    monkeypatch.setenv("HOLOCRON_DATA", str(tmp_path))
    texts = [
        "A ship that carried tea",
        "The freighter brought leaves for a hot drink",
        "He was a tall general",
    ]
    with model_server({**os.environ, "HOLOCRON_LLM": "embedded"}) as url:
        vectors = np.array(ollama.Client(url).embed(SHIPPED.name, input=texts).embeddings)
    near, far = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert vectors.shape == (3, 384)
    assert near > far + 0.1
