"""The Reconciliation Service API 0.2, for OpenRefine and other programs that match names to entities."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from holocron_assets.classify.taxonomy import load_taxonomy
from holocron_assets.doors import questions
from holocron_assets.doors.matching import (
    Candidate,
    NameQuery,
    candidates,
    entities_of,
    ids_now,
    values_of,
)
from holocron_assets.doors.questions import NoEntityError, ViewQuery, entity_called
from holocron_assets.entities.facts.stated_keys import load_keys
from holocron_assets.lake.place.paths import Lake
from holocron_assets.retrieval.search import SearchError, searcher_of
from holocron_assets.review.web.rendering import render

PATH = "/reconcile"
BATCH = 50
"""Names that one request may ask about."""

_LARGEST_FORM = 1024 * 1024
_SUGGESTED = 20
_SHOWN_FACTS = 8
_BEGINNING_SO = """
    select entity_id from entity_aliases
    where starts_with(lower(alias), lower($prefix))
    group by entity_id order by min(length(alias)), entity_id limit $most
"""


class _Property(BaseModel):
    id: str


class _Extension(BaseModel):
    ids: list[str]
    properties: list[_Property]


_QUERIES = TypeAdapter(dict[str, NameQuery])
_T = TypeVar("_T")


class RefusedError(ValueError):
    """A request cannot be answered; the message says why."""


@dataclass(frozen=True)
class Reconciliation:
    """The service. It reads the lake and the search index as they are at each request."""

    lake: Lake

    async def service(self, request: Request) -> Response:
        """The manifest; or candidates for `queries`, or values for `extend`, by GET or as a form."""
        try:
            by_form = request.method == "POST"  # HEAD asks as GET does
            given = await _form(request) if by_form else dict(request.query_params)
            found = await run_in_threadpool(self._answer, given, str(request.base_url))
        except RefusedError as error:
            return _refused(str(error), HTTPStatus.BAD_REQUEST)
        except SearchError as error:
            return _refused(str(error), HTTPStatus.SERVICE_UNAVAILABLE)
        return JSONResponse(found)

    def suggest(self, request: Request) -> Response:
        """Entities, properties or types whose name begins with `prefix`, or is written almost so."""
        prefix = request.query_params.get("prefix", "").strip()
        skip = _number(request.query_params.get("cursor", "")) or 0
        found: Sequence[Mapping[str, Any]]
        match request.path_params["kind"]:
            case "entity":
                try:
                    found = self._entities(prefix, skip + _SUGGESTED)
                except SearchError as error:
                    return _refused(str(error), HTTPStatus.SERVICE_UNAVAILABLE)
            case "type":
                found = _like(prefix, _types().values())
            case "property":
                found = _like(prefix, _properties().values())
            case kind:
                return _refused(f"{kind!r} is none of entity, property, type", HTTPStatus.NOT_FOUND)
        return JSONResponse({"result": found[skip : skip + _SUGGESTED]})

    def properties(self, request: Request) -> Response:
        """The properties that entities of a type may have."""
        wanted = request.query_params.get("type", "")
        limit = _number(request.query_params.get("limit", ""))
        found = [_named(one) for one in _properties(wanted).values()]
        return JSONResponse({"type": wanted, "properties": found[:limit]})

    def preview(self, request: Request) -> Response:
        """A small page about an entity, to be shown in a frame."""
        try:
            entity = entity_called(self.lake, request.query_params.get("id", ""))
        except NoEntityError as error:
            return _refused(str(error), HTTPStatus.NOT_FOUND)
        facts = questions.facts(entity["entity_id"], None, None).rows(self.lake)
        values = {"entity": entity, "about": _about(entity), "facts": facts[:_SHOWN_FACTS]}
        return render(request, "preview.html", values)

    def _answer(self, given: Mapping[str, Any], base: str) -> dict[str, Any]:
        if "queries" in given:
            return self._matched(given["queries"])
        if "extend" in given:
            return self._extended(given["extend"])
        return _manifest(base)

    def _matched(self, text: str) -> dict[str, Any]:
        queries = _read(_QUERIES, text)
        if len(queries) > BATCH:
            raise RefusedError(f"{len(queries)} queries are more than the {BATCH} of one batch: send fewer")
        found = candidates(self.lake, searcher_of(self.lake), list(queries.values()))
        return {key: {"result": list(map(_result, among))} for key, among in zip(queries, found, strict=True)}

    def _extended(self, text: str) -> dict[str, Any]:
        wanted = _read(TypeAdapter(_Extension), text)
        pids, known = [one.id for one in wanted.properties], _properties()
        now = ids_now(self.lake, wanted.ids)
        values = values_of(self.lake, set(now.values()), pids)
        return {
            "meta": [_named(known.get(pid, {"id": pid, "name": pid})) for pid in pids],
            "rows": {
                asked: {pid: [_value(row) for row in values.get((entity_id, pid), ())] for pid in pids}
                for asked, entity_id in now.items()
            },
        }

    def _entities(self, prefix: str, most: int) -> list[dict[str, Any]]:
        if not prefix:
            return []
        asked = {"prefix": prefix, "most": most}
        begin = ViewQuery(["entity_aliases"], _BEGINNING_SO, asked).rows(self.lake)
        named = searcher_of(self.lake).names(prefix, most)
        ids = [
            *ids_now(self.lake, [prefix]).values(),
            *(row["entity_id"] for row in begin),
            *(hit.row["entity_id"] for hit in named),
        ]
        entities = entities_of(self.lake, {one for one in ids if one})
        return [
            {
                "id": one,
                "name": entities[one]["name"],
                "description": _about(entities[one]),
                "notable": [_named(_types()[entities[one]["entity_type"]])],
            }
            for one in dict.fromkeys(ids)
            if one in entities
        ]


def reconciliation_routes(lake: Lake) -> list[Route]:
    """The paths of the service.

    Args:
        lake: what names are matched to.
    """
    service = Reconciliation(lake)
    return [
        Route(PATH, service.service, methods=["GET", "POST"]),
        Route(f"{PATH}/suggest/{{kind}}", service.suggest),
        Route(f"{PATH}/properties", service.properties),
        Route(f"{PATH}/preview", service.preview),
    ]


def _number(text: str) -> int | None:
    """The number that a parameter of an address says; None if it says none, or one beyond all lists."""
    return int(text) if text.isdecimal() and len(text) < len("1000000") else None


def _manifest(base: str) -> dict[str, Any]:
    suggest = {
        kind: {"service_url": base.rstrip("/"), "service_path": f"{PATH}/suggest/{kind}"}
        for kind in ("entity", "property", "type")
    }
    return {
        "versions": ["0.2"],
        "name": "Holocron",
        "identifierSpace": "urn:uuid:",
        "schemaSpace": "urn:holocron:",
        "serviceVersion": version("holocron-assets"),
        "defaultTypes": [_named(one) for one in _types().values()],
        "view": {"url": f"{base}entity/{{{{id}}}}"},
        "preview": {"url": f"{base.rstrip('/')}{PATH}/preview?id={{{{id}}}}", "width": 420, "height": 260},
        "suggest": suggest,
        "extend": {
            "propose_properties": {"service_url": base.rstrip("/"), "service_path": f"{PATH}/properties"}
        },
        "batchSize": BATCH,
    }


def _result(candidate: Candidate) -> dict[str, Any]:
    entity = candidate.entity
    features = [{"id": "name", "value": round(candidate.fit, 4)}]
    if candidate.agreeing is not None:
        features.append({"id": "properties", "value": round(candidate.agreeing, 4)})
    return {
        "id": entity["entity_id"],
        "name": entity["name"],
        "description": _about(entity),
        "type": [_named(_types()[entity["entity_type"]])],
        "score": round(candidate.score, 2),
        "features": features,
        "match": candidate.is_match,
    }


def _about(entity: Mapping[str, Any]) -> str:
    """What tells an entity from its namesakes."""
    return "{title} of {source}: {entity_type}, {continuity}, {state}".format_map(entity)


def _types() -> dict[str, dict[str, str]]:
    types = load_taxonomy().types
    return {
        name: {"id": name, "name": name, "description": types[name].definition}
        for name in load_taxonomy().entity_worthy_types
    }


def _properties(of_type: str = "") -> dict[str, dict[str, str]]:
    """Keys of facts and relations, by key; those that entities of a type may have."""
    return {
        one.key: {"id": one.key, "name": one.key.replace("_", " "), "description": one.means}
        for one in load_keys().values()
        if one.kind in {"fact", "relation"}
        and (not (of_type and one.from_types) or of_type in one.from_types)
    }


def _named(one: Mapping[str, str]) -> dict[str, str]:
    return {"id": one["id"], "name": one["name"]}


def _like(prefix: str, known: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """Those whose name begins with a text, and then those that contain it."""
    text = prefix.casefold()
    having = [one for one in known if text in one["id"].casefold() or text in one["name"].casefold()]
    return sorted(having, key=lambda one: not one["name"].casefold().startswith(text))


def _value(row: Mapping[str, Any]) -> dict[str, str]:
    return {"id": row["other_id"], "name": row["value"]} if row["other_id"] else {"str": row["value"]}


def _read(adapter: TypeAdapter[_T], text: object) -> _T:
    try:
        return adapter.validate_json(str(text))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "its start"
        raise RefusedError(f"what is asked cannot be read, at {place}: {first['msg']}") from error


async def _form(request: Request) -> dict[str, Any]:
    length = request.headers.get("content-length", "")
    if not length.isdecimal() or int(length) > _LARGEST_FORM:
        raise RefusedError("a form says how long it is, up to 1 MiB: send fewer queries")
    form = dict(await request.form())
    if not form.keys() & {"queries", "extend"}:
        raise RefusedError("the form has neither `queries` nor `extend`")
    return form


def _refused(message: str, status: HTTPStatus) -> Response:
    return JSONResponse({"status": "error", "message": message}, status)
