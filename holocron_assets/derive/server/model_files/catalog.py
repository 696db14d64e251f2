"""The known models: their names, their files, and where to get the files."""

from functools import cache
from pathlib import Path

from pydantic import Field

from holocron_assets.derive.server.errors import UnknownModelError
from holocron_assets.frozen_model import FrozenModel
from holocron_assets.lake.files.people_yaml import load_yaml

_SHIPPED = Path(__file__).with_name("catalog.yaml")
_REGISTRY = ("registry.ollama.ai/", "library/")
"""An optional start of a name; Ollama leaves it out when it lists its own models."""


class HubFile(FrozenModel):
    """A file on the model hub."""

    repository: str
    file: str


class PackageParts(FrozenModel):
    """Python packages that carry a model file in parts, joined in the order of their number.

    Attributes:
        name: the packages' name; `{number}` in it runs from 1 to `count`.
        files: a pattern of the files inside each wheel that are the parts.
    """

    name: str
    version: str
    count: int = Field(ge=1)
    files: str

    @property
    def requirements(self) -> tuple[str, ...]:
        """The packages to fetch, in the order in which their parts join."""
        return tuple(f"{self.name.format(number=n)}=={self.version}" for n in range(1, self.count + 1))


class Weights(FrozenModel):
    """Published weights that a model file is made of, and where they are.

    Attributes:
        sha256: of the file of weights, as published.
        repository: on the model hub.
        file: the file of weights, in the safetensors format.
        vocabulary: the file of the tokenizer's words, a line each.
        vocabulary_sha256: of that file.
        package: a Python package that carries both files, with its version.
    """

    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    repository: str
    file: str
    vocabulary: str
    vocabulary_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    package: str


class Model(FrozenModel):
    """A model that can be served. Sizes are in bytes, lengths in tokens."""

    name: str
    aliases: tuple[str, ...] = ()
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    size: int = Field(gt=0)
    family: str
    parameters: int
    parameter_size: str
    quantization: str
    context_length: int
    embedding_length: int
    licence: str
    hub: HubFile | None = None
    packages: PackageParts | None = None
    weights: Weights | None = None

    @property
    def only_embeds(self) -> bool:
        """Whether it cannot write: it is an encoder."""
        return self.family == "bert"

    @property
    def file_name(self) -> str:
        """The name of its file in the cache: readable, and different for different contents."""
        return f"{self.name.replace(':', '-').replace('/', '-')}-{self.sha256[:12]}.gguf"


class Catalog(FrozenModel):
    """All known models, and the defaults."""

    default: str
    small: str
    models: tuple[Model, ...]

    def find(self, name: str) -> Model:
        """The model of a name, as Ollama reads names: case does not matter, no tag means `:latest`.

        Raises:
            UnknownModelError: the catalog has no such model.
        """
        wanted = full_name(name)
        for model in self.models:
            if wanted in map(full_name, (model.name, *model.aliases)):
                return model
        raise UnknownModelError(name, ", ".join(model.name for model in self.models))

    def has(self, name: str) -> bool:
        """Whether there is a model of a name."""
        wanted = full_name(name)
        return any(wanted in map(full_name, (model.name, *model.aliases)) for model in self.models)


def full_name(name: str) -> str:
    """A model's name with its tag, without the registry, in lower case."""
    bare = name.strip().lower()
    for prefix in _REGISTRY:
        bare = bare.removeprefix(prefix)
    return bare if ":" in bare else f"{bare}:latest"


def read_catalog(file: Path) -> Catalog:
    """Read a catalog file."""
    return Catalog.model_validate(load_yaml(file.read_text(encoding="utf-8")))


@cache
def shipped_catalog() -> Catalog:
    """The catalog that comes with Holocron."""
    return read_catalog(_SHIPPED)
