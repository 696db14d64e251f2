"""Requests and replies about one item, written as files for a person to read."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from holocron_assets.derive.results.result_journals import ExchangeJournal, exchanges_path, sent_whole
from holocron_assets.lake.declaration.keys import content_hash
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import LLM_ATTEMPTS, LLM_RUNS
from holocron_assets.lake.views.database import connect
from holocron_assets.lake.views.named_pages import find_page, nearest_pages

Record = Mapping[str, Any]

_LONGEST_NAME = 200

_SCOPES = """
    select asked.scope, list(distinct asked.result_key)
    from llm_runs as meant
    join llm_runs as asked using (result_key)
    where
        meant.interrogation = $name
        and (meant.subject = $subject or starts_with(meant.subject, $subject || '#'))
    group by asked.scope
    order by max(asked.calls) desc
"""


class NoArtifactsError(LookupError):
    """No request or reply about an item is kept."""


def write_artifacts(lake: Lake, name: str, subject: str, folder: Path) -> list[Path]:
    """Write the last requests and replies about an item: a folder for each of a page's chunks.

    Args:
        lake: where the journals are.
        name: the interrogation's.
        subject: a page's title, or both names of a pair.
        folder: the folder to write to; created if it is missing.

    Returns:
        The files: `request.json`, as it was sent; `response.json`, the server's last response with the text
        of all that it sent before, if there was a reply; `call.json`, the row of `llm_attempts`;
        `evidence.json`; `prompt.txt`; `steps.json` where an answer led to a follow-up, or to none;
        `output.json` of an answer; of a failure `error_manifest.json`, and `invalid_json_response.txt` if
        there was a reply.

    Raises:
        NoArtifactsError: nothing is kept about it.
    """
    found = _attempts(lake, name, subject)
    if not found:
        near = "" if find_page(lake, subject, None) else nearest_pages(lake, subject)
        raise NoArtifactsError(f"nothing is kept of interrogation {name!r} asking about {subject!r}.{near}")
    repeated = Counter(one for one, _ in found)
    return [
        path
        for (one, item_id), attempts in sorted(found.items())
        # Pages of two sources may have one title.
        for path in _write(
            _files(attempts), folder / folder_name(f"{one} {item_id}" if repeated[one] > 1 else one)
        )
    ]


def write_run_folders(lake: Lake, name: str | None, folder: Path) -> Iterator[Path]:
    """Write all requests and replies that are kept, by the day and the run that made them.

    The last attempt of each run at an item is in `llm_runs/YYYY/MM/DD/RUN/INTERROGATION/SUBJECT ITEM/`.

    Args:
        lake: where the journals are.
        name: only those of this interrogation.
        folder: the folder to write to; created if it is missing.

    Yields:
        The files, as `write_artifacts` names them.
    """
    for scope in sorted(path.parent.name for path in lake.journals(LLM_ATTEMPTS)):
        of = scope.partition("-")[0]
        if name is not None and of != name:
            continue
        attempts: defaultdict[Path, list[tuple[Record, Record]]] = defaultdict(list)
        for record, shared in _records(lake, scope):
            row = record["calls"][-1]["row"]
            day = f"{datetime.fromisoformat(record['at']):%Y/%m/%d}"
            place = Path("llm_runs", day, folder_name(row["run_id"] or "none"), of)
            attempts[place / folder_name(f"{record['subject']} {record['item']}")].append((record, shared))
        for place, of_item in attempts.items():
            yield from _write(_files(of_item), folder / place)


def names_asked(lake: Lake) -> set[str]:
    """The interrogations of which calls are kept, also those whose file is gone."""
    return {path.parent.name.partition("-")[0] for path in lake.journals(LLM_ATTEMPTS)}


def _attempts(lake: Lake, name: str, subject: str) -> dict[tuple[str, str], list[tuple[Record, Record]]]:
    """The attempts at each item of a title, with the shared part of its requests, where it was asked."""
    for scopes in (_published_scopes(lake, name, subject), _journaled_scopes(lake, name)):
        found: defaultdict[tuple[str, str], list[tuple[Record, Record]]] = defaultdict(list)
        for scope, keys in scopes.items():
            for record, shared in _records(lake, scope):
                is_own = scope.startswith(f"{name}-") or record["calls"][-1]["row"]["result_key"] in keys
                if is_own and (record["subject"] == subject or record["subject"].startswith(f"{subject}#")):
                    found[record["subject"], record["item"]].append((record, shared))
        if found:
            return found
    return {}


def _published_scopes(lake: Lake, name: str, subject: str) -> dict[str, list[str]]:
    """The scopes that asked about an item, with its result keys; also those whose answer it reuses."""
    with connect(lake, tables=[LLM_RUNS]) as connection:
        return dict(connection.execute(_SCOPES, {"name": name, "subject": subject}).fetchall())


def _journaled_scopes(lake: Lake, name: str) -> dict[str, list[str]]:
    """Every scope of an interrogation, for an item whose run was killed before it wrote to the lake."""
    scopes = (path.parent.name for path in lake.journals(LLM_ATTEMPTS))
    return {scope: [] for scope in scopes if scope.startswith(f"{name}-")}


def _records(lake: Lake, scope: str) -> Iterator[tuple[Record, Record]]:
    shared: dict[str, Record] = {}
    for record in ExchangeJournal(exchanges_path(lake, scope)).records():
        if "name" in record:
            shared[record["name"]] = record
        else:
            yield record, shared[record["shared"]]


def _files(attempts: Sequence[tuple[Record, Record]]) -> dict[str, str]:
    """The files of an item, by name: its last attempt; if that failed, also how all attempts failed."""
    record, shared = max(attempts, key=lambda attempt: attempt[0]["at"])
    call = record["calls"][-1]
    request = sent_whole(call, shared)
    files = {
        "request.json": _json(request),
        "call.json": _json(call["row"]),
        "evidence.json": _json(record["evidence"]),
        "prompt.txt": "\n\n".join(request.get("input") or _contents(request)),
    }
    if call["reply"] is not None:
        files["response.json"] = _json(_response(call))
    if any(call["row"].get("decision") for call in record["calls"]):
        files["steps.json"] = _json([_step(call, shared) for call in record["calls"]])
    if record["status"] == "ok":
        return {**files, "output.json": _json(record["answer"])}
    rows = [call["row"] for attempt, _ in attempts for call in attempt["calls"]]
    manifest = {"status": record["status"], "error": record["error"], "at": record["at"], "calls": rows}
    files["error_manifest.json"] = _json(manifest)
    replies = [call["reply"] for call in record["calls"] if call["reply"] is not None]
    return {**files, "invalid_json_response.txt": replies[-1]} if replies else files


def _contents(request: Record) -> list[str]:
    return [message["content"] for message in request["messages"]]


def _response(call: Record) -> dict[str, Any]:
    """The server's last response, with the text of all that it sent before."""
    last = call.get("last_response") or {}
    return {**last, "message": {**last.get("message", {"role": "assistant"}), "content": call["reply"]}}


def _step(call: Record, shared: Record) -> dict[str, Any]:
    """One call of an attempt with several: request, reply, and the decision after it."""
    row = call["row"]
    decision = row.get("decision")
    return {
        **{name: row[name] for name in ("turn", "try", "outcome", "error")},
        "asked": sent_whole(call, shared)["messages"][-1]["content"],
        "reply": call["reply"],
        "decision": json.loads(decision) if decision else None,
    }


def _write(files: Mapping[str, str], folder: Path) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        yield path


def folder_name(subject: str) -> str:
    """A safe folder name for any title: it leads to no other folder, and is not too long."""
    name = quote(subject, safe=" #,()'").replace(".", "%2E")
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}-{content_hash(subject)[:16]}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
