"""Resolvers: each turns an artifact into addresses that may give it; they are tried in order."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any
from urllib.parse import quote

from holocron_assets.crawl.files.artifact import Artifact, Candidate, normalized_url
from holocron_assets.crawl.files.transfers.addresses import original
from holocron_assets.crawl.mediawiki.answers import JsonObject
from holocron_assets.crawl.mediawiki.client import WikiClient
from holocron_assets.crawl.mediawiki.titles import unsendable
from holocron_assets.crawl.sources.file_source import FileSource, Resolver
from holocron_assets.errors import PermanentError

_MOST_ADDRESSES = 20
"""Addresses that one resolver may give for an artifact; a function may give them without end."""
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ASKED_OF_A_WIKI = "url|size|sha1|mime|timestamp"


class ResolverError(PermanentError):
    """A resolver cannot be used, or its function failed. The message names it."""


@dataclass(frozen=True)
class Link:
    """One resolver of the chain.

    Attributes:
        label: its name.
        head: whether size and type are asked for first.
        find: gives candidates, in order; their addresses are as the resolver states them.
    """

    label: str
    head: bool
    find: Callable[[Artifact], Iterable[Candidate]]

    def candidates(self, artifact: Artifact) -> list[Candidate]:
        """What may give the artifact, in order.

        Raises:
            ResolverError: its function failed.
            WikiUnavailable: the wiki gives no usable answer, for now.
            WikiRefused: the wiki will not answer.
        """
        return list(islice(self.find(artifact), _MOST_ADDRESSES))


def chain_of(source: FileSource, wiki: WikiClient | None) -> Sequence[Link]:
    """The resolvers of a source.

    Args:
        source: names them.
        wiki: the source's wiki, for those that ask it.

    Raises:
        ResolverError: a function that one of them names cannot be loaded.
    """
    return [Link(one.label, one.head, _finder(source, one, wiki)) for one in source.resolvers]


def asks_its_wiki(source: FileSource) -> bool:
    """Whether a resolver of the source asks its wiki."""
    return any(one.use == "imageinfo" for one in source.resolvers)


def _finder(
    source: FileSource, resolver: Resolver, wiki: WikiClient | None
) -> Callable[[Artifact], Iterable[Candidate]]:
    label = resolver.label
    if resolver.use == "imageinfo" and wiki is not None:
        return lambda artifact: by_imageinfo(label, wiki, artifact)
    if resolver.use == "template":
        template = resolver.template or ""
        return lambda artifact: by_template(label, template, artifact)
    if resolver.use == "python":
        return _by_function(source, resolver)
    return lambda artifact: [Candidate(label, artifact.url)] if artifact.url else []


def usable(candidate: Candidate) -> str:
    """The address that is asked for a candidate: in its normal form, and that of the original.

    Raises:
        ArtifactError: it is no address that can be asked for.
    """
    normal = normalized_url(candidate.url)
    best = original(normal)
    return normal if best == normal else normalized_url(best)


def by_template(label: str, template: str, artifact: Artifact) -> list[Candidate]:
    """The address that a template gives; none if the artifact lacks a value that it wants.

    Values are escaped: whatever they hold, they stay in their place of the address.
    """
    known = _values(artifact)
    wanted = _PLACEHOLDER.findall(template)
    if any(known.get(name) in {None, ""} for name in wanted):
        return []
    return [Candidate(label, _PLACEHOLDER.sub(lambda found: _escaped(found[1], known[found[1]]), template))]


def by_imageinfo(label: str, wiki: WikiClient, artifact: Artifact) -> Iterable[Candidate]:
    """The address that a wiki states at present for a file, with its size, checksum and type."""
    if unsendable(artifact.name):
        return
    asked = {"titles": artifact.name, "prop": "imageinfo", "iiprop": _ASKED_OF_A_WIKI}
    for part in islice(wiki.query(asked), 1):  # MediaWiki would go on with the file's earlier versions
        for page in part.get("pages", []):
            for info in page.get("imageinfo", [])[:1]:
                if isinstance(info.get("url"), str):
                    yield _stated(label, info)


def _stated(label: str, info: JsonObject) -> Candidate:
    size, sha1, mime = info.get("size"), info.get("sha1"), info.get("mime")
    return Candidate(
        label,
        info["url"],
        size if isinstance(size, int) else None,
        sha1 if isinstance(sha1, str) else None,
        mime if isinstance(mime, str) else None,
    )


def _by_function(source: FileSource, resolver: Resolver) -> Callable[[Artifact], Iterable[Candidate]]:
    module, _, name = (resolver.function or "").partition(":")
    try:
        function: Callable[[Artifact], Iterable[str]] = getattr(import_module(module), name)
    except Exception as error:
        raise ResolverError(
            f"resolver {resolver.label} of source {source.name!r} names {resolver.function}, which cannot be "
            f"loaded ({type(error).__name__}: {error}). Correct it, or put the module on PYTHONPATH"
        ) from error

    def find(artifact: Artifact) -> Iterable[Candidate]:
        try:
            for url in function(artifact):
                yield Candidate(resolver.label, str(url))
        except Exception as error:
            raise ResolverError(
                f"{artifact.name}: {resolver.function} failed ({type(error).__name__}: {error}). Correct it"
            ) from error

    return find


def _values(artifact: Artifact) -> Mapping[str, Any]:
    kind, _, value = artifact.artifact_id.partition(":")
    own = {"name": artifact.name, "url": artifact.url, "sha1": artifact.sha1, "sha256": artifact.sha256}
    return {**(artifact.fields or {}), **({"doi": value} if kind == "doi" else {}), **own}


def _escaped(name: str, value: Any) -> str:
    return quote(str(value), safe="/" if name == "doi" else "")
