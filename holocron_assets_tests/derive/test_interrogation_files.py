import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from interrogation_files import read_interrogations

from holocron_assets.derive.evidence.quotes import is_quoted
from holocron_assets.derive.evidence.room import room_for_evidence
from holocron_assets.derive.interrogations.interrogation import Interrogation, InterrogationError
from holocron_assets.derive.interrogations.loading import load_interrogations
from holocron_assets.derive.items.prompting import system_part
from holocron_assets.derive.items.tokens import estimate_tokens
from holocron_assets.settings import PROJECT_FOLDER, written_by_people

SHIPPED = PROJECT_FOLDER / "data" / "interrogations"
KINDS: dict[str, Any] = {
    "key": "kinds",
    "version": 3,
    "title": "What a page is about",
    "model": "qwen2.5-coder:1.5b",
    "priority": 500,
    "evidence": [{"source": "page", "part": "text"}],
    "prompt": "Say what it is:{% for name in page_types %} {{ name }}{% endfor %}.",
    "question": "What is {{ title | quoted }}?",
    "answer_schema": {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"$ref": "holocron:page_types", "description": "What it is"}},
    },
    "options": {"num_ctx": 4096, "num_predict": 100},
    "timeout_seconds": 20,
}


def write(folder: Path, name: str = "kinds", **changes: Any) -> Path:
    """A file of an interrogation; a change to None leaves the key out."""
    content = {key: value for key, value in {**KINDS, **changes}.items() if value is not None}
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


def read_one(folder: Path, **changes: Any) -> Interrogation:
    write(folder, **changes)
    [interrogation] = read_interrogations(folder)
    return interrogation


def test_a_file_becomes_an_interrogation_with_its_table(tmp_path: Path) -> None:
    interrogation = read_one(tmp_path)
    assert interrogation.name == "kinds"
    assert interrogation.table.name == "derived_kinds"
    assert interrogation.table.partition_column == "batch"
    assert interrogation.options.temperature == 0
    assert "Say what it is: PersonCharacter Droid" in system_part(interrogation)


def test_a_folder_holds_long_texts_as_files_of_their_own(tmp_path: Path) -> None:
    whole = read_one(tmp_path, retry_prompt="Again: {{ error }}", follow_up="Sure?")
    (tmp_path / "kinds.yaml").unlink()
    folder = tmp_path / "kinds"
    folder.mkdir()
    staleness = ("prompt", "question", "answer_schema", "retry_prompt", "follow_up")
    path = write(folder, "interrogation", **dict.fromkeys(staleness))
    (folder / "prompt.md").write_text(KINDS["prompt"])
    (folder / "question.md").write_text(KINDS["question"])
    (folder / "schema.json").write_text(json.dumps(KINDS["answer_schema"]))
    (folder / "retry.md").write_text("Again: {{ error }}")
    (folder / "follow_up.md").write_text("Sure?")
    (folder / "examples.yaml").write_text("[]")
    assert read_interrogations(tmp_path) == (whole,)
    path.write_text(path.read_text() + "prompt: Twice.\n")
    with pytest.raises(InterrogationError, match=r"prompt: is also in prompt.md"):
        read_interrogations(tmp_path)


def test_a_shadow_exists_next_to_the_live_one(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path, "kinds_next", version=4, shadow=True)
    live, shadow = read_interrogations(tmp_path)
    assert (live.name, live.table.name) == ("kinds", "derived_kinds")
    assert (shadow.name, shadow.table.name) == ("kinds_shadow_4", "shadow_kinds_4")


def test_answers_of_another_shape_lie_in_another_folder(tmp_path: Path) -> None:
    word = {"type": "string", "maxLength": 9, "description": "A word"}
    properties = KINDS["answer_schema"]["properties"]
    other = read_one(
        tmp_path, answer_schema={**KINDS["answer_schema"], "properties": {**properties, "word": word}}
    )
    same = read_one(tmp_path, prompt="Otherwise.")
    assert other.table.folder != same.table.folder
    assert same.table.folder == read_one(tmp_path).table.folder


def test_a_model_can_be_set_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrogation = read_one(tmp_path, alternatives=["qwen2.5-coder:0.5b"])
    monkeypatch.delenv("HOLOCRON_MODEL", raising=False)
    assert list(interrogation.models) == ["qwen2.5-coder:1.5b", "qwen2.5-coder:0.5b"]
    monkeypatch.setenv("HOLOCRON_MODEL", "smollm2:135m")
    assert list(interrogation.models) == ["smollm2:135m"]


ANSWER = KINDS["answer_schema"]
FACTS = {
    "type": "object",
    "required": ["facts"],
    "properties": {"facts": {"type": "array", "maxItems": 2, "items": ANSWER, "description": "Facts"}},
}
BROKEN = [
    ({"prompt": None}, "prompt: is missing"),
    ({"promt": "Hello"}, "promt: is no known key"),
    ({"key": "Kinds"}, "key: String should match pattern"),
    ({"key": "sorts"}, "key: must be 'kinds', as the file is called"),
    ({"key": "a_shadow_b"}, "key: must not contain '_shadow_'"),
    ({"priority": 1001}, "priority: Input should be less than or equal to 1000"),
    ({"priority": "high"}, "priority: Input should be a valid integer"),
    ({"shadow": "yes"}, "shadow: Input should be a valid boolean"),
    ({"over": "books"}, "over: Input should be 'pages', 'pairs' or 'entities'"),
    ({"wants": {"types": ["Robot"]}}, "wants.types: not in the taxonomy: Robot"),
    ({"wants": {"of": "pages"}}, "wants.of: Input should be 'rule_classifications' or 'page_types'"),
    ({"wants": {"confidence_below": 80}}, "wants.confidence_below: Input should be less than or equal to 1"),
    ({"wants": {"sql": "titel = 'x'"}}, "wants.sql: \"titel = 'x'\" cannot be asked"),
    ({"wants": {"sql": "title"}}, "wants.sql: 'title' is no condition, but of type VARCHAR"),
    ({"wants": {"sql": "true) or (select true from read_csv('/etc/passwd')"}}, "wants.sql"),
    ({"wants": {"sql": "random() > 0.5"}}, "may give another value the next time"),
    ({"evidence": []}, "evidence: Tuple should have at least 1 item"),
    ({"evidence": [{"source": "book"}]}, "evidence.0: Input tag 'book'"),
    ({"evidence": [{"source": "page", "part": "text", "of": "first"}]}, "evidence: of first: over pages"),
    ({"evidence": [{"source": "chunk"}]}, "chunk_characters and evidence from a chunk go together"),
    ({"chunk_characters": 500}, "chunk_characters and evidence from a chunk go together"),
    ({"over": "pairs"}, "evidence: of page: over pairs, there is none"),
    ({"prompt": "{{ page_typs }}"}, "prompt: 'page_typs' is undefined; the variables are canon_contexts"),
    ({"prompt": "{% if %}"}, "prompt: Expected an expression"),
    ({"question": "{{ titel }}"}, "question: 'titel' is undefined"),
    ({"question": "{{ title.__class__.__mro__ }}"}, "question: access to attribute '__class__'"),
    ({"question": "{{ title.index('Zzz') }}"}, "question: substring not found"),
    ({"question": "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}"}, "question: maximum recursion depth"),
    ({"follow_up": "{{ answer.kin }}"}, "follow_up.0.ask: 'dict object' has no attribute 'kin'"),
    ({"follow_up": [{"when": "answer.kind ==", "ask": "Sure?"}]}, "follow_up.0.when: unexpected 'end of"),
    ({"follow_up": [{"when": "answr.kind", "ask": "Sure?"}]}, "follow_up.0.when: 'answr' is undefined"),
    ({"follow_up": [{"when": "title.__class__", "ask": "Sure?"}]}, "follow_up.0.when: access to attribute"),
    ({"follow_up": [{"ask": "Sure?"}, {"ask": "{{ answers[2] }}"}]}, "follow_up.1.ask: list object has no"),
    ({"follow_up": [{"ask": "Sure?", "otherwise": "So?"}]}, "follow_up.0: otherwise: is never asked"),
    ({"follow_up": [{"when": "true"}]}, "follow_up.0.ask: is missing"),
    ({"retry_prompt": "{{ eror }}"}, "retry_prompt: 'eror' is undefined"),
    ({"answer_schema": {"type": "array"}}, "answer_schema: answer: an array needs maxItems"),
    ({"options": {"num_ctx": 4096}}, "options.num_predict: is missing"),
    ({"options": {"num_ctx": 512, "num_predict": 400}}, "options.num_ctx: prompt, question and answer leave"),
    ({"timeout_seconds": 0}, "timeout_seconds: Input should be greater than 0"),
    ({"rows": {"each": "facts"}}, "rows.each: the answer has no array of objects called 'facts'"),
    (
        {"answer_schema": {**FACTS, "required": []}, "rows": {"each": "facts"}},
        "the answer must require 'facts'",
    ),
    ({"rows": {"quotes": ["quote"]}}, "rows.quotes: quote: the answer's rows have no such text"),
    (
        {"examples": [{"evidence": {"text": "x"}, "variables": {"title": "X"}, "answer": {"kind": "Robot"}}]},
        r"examples\[0\].answer.kind: 'Robot' is not one of",
    ),
    ({"evidence": [{"source": "sql", "sql": "from no_view"}]}, "evidence: query 'from no_view'"),
    ({"evidence": [{"source": "sql", "sql": "select $titel"}]}, "no value is called"),
    ({"model": " "}, "model: String should match pattern"),
    ({"options": {**KINDS["options"], "seed": 2**31}}, "options.seed: Input should be less than"),
    ({"wants": {"confidence_from": 0.8, "confidence_below": 0.8}}, "wants: no confidence is at least 0.8"),
    (
        {"examples": [{"evidence": {"text": "x"}, "answer": {"kind": "Droid"}}]},
        "examples: 'title' is undefined",
    ),
]


@pytest.mark.parametrize(("change", "problem"), BROKEN, ids=[problem for _, problem in BROKEN])
def test_a_broken_one_fails_with_its_file_key_and_reason(
    tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    path = write(tmp_path, **change)
    with pytest.raises(InterrogationError, match=f"{path}: .*{problem}"):
        read_interrogations(tmp_path)


@pytest.mark.parametrize("name", ["title", "batch", "supported", "run_id", "item_id", "partition"])
def test_a_column_that_every_table_has_is_refused(tmp_path: Path, name: str) -> None:
    word = {"type": "string", "maxLength": 9, "description": "A word"}
    write(tmp_path, answer_schema={"type": "object", "properties": {name: word}, "required": [name]})
    with pytest.raises(InterrogationError, match=f"answer_schema: {name}: taken by a column"):
        read_interrogations(tmp_path)


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    write(one)
    write(other, version=9)
    with pytest.raises(InterrogationError, match=f"key: 'kinds' is taken by {one / 'kinds.yaml'}"):
        read_interrogations(one, other)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("kinds.yml", b"key: kinds", "must be called kinds.yaml"),
        ("kinds.yaml", b"key: [", "is not valid YAML"),
        ("kinds.yaml", b"- key", "is no mapping"),
        ("kinds.yaml", b"key: \xff", "is not UTF-8"),
        ("kinds/interrogation.yaml", b"key: kinds", "version: is missing"),
        ("kinds/prompt.md", b"Hello", "interrogation.yaml: cannot be read: No such file"),
    ],
)
def test_what_is_no_interrogation_is_named(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    with pytest.raises(InterrogationError, match=problem):
        read_interrogations(tmp_path)


def test_a_file_that_nobody_reads_is_refused(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "identity_check", tmp_path / "identity_check")
    (tmp_path / "identity_check" / "promt.md").write_text("Hello")
    with pytest.raises(InterrogationError, match=r"promt.md: no such file is read"):
        read_interrogations(tmp_path)


def test_broken_json_is_named(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "identity_check", tmp_path / "identity_check")
    (tmp_path / "identity_check" / "schema.json").write_text("{")
    with pytest.raises(InterrogationError, match=r"schema.json: is not valid JSON"):
        read_interrogations(tmp_path)


def test_a_query_may_name_what_an_item_has_and_what_interrogations_find_out(tmp_path: Path) -> None:
    write(tmp_path, "others", key="others")
    sql = "select kind from derived_others where title_key = $title_key and batch = $batch"
    write(tmp_path, evidence=[{"source": "sql", "sql": sql}])
    assert len(read_interrogations(tmp_path)) == 2


def test_an_interrogation_that_names_another_as_input_knows_it(tmp_path: Path) -> None:
    write(tmp_path)
    question = "{{ inputs.kinds[0].kind }} {{ title }}: what is it?"
    write(tmp_path, "second", key="second", inputs=["kinds"], question=question)
    kinds, second = read_interrogations(tmp_path)
    assert second.upstream == (kinds,)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"inputs": ["kinds", "kinds"]}, "inputs: names one twice"),
        (
            {"evidence": [{"source": "answers", "of": "kinds"}]},
            "evidence: answers of kinds: name it in inputs",
        ),
        ({"inputs": ["nobody"]}, "inputs: 'nobody' is no interrogation that counts; there are kinds, second"),
        (
            {"inputs": ["kinds"], "question": "{{ inputs.kinds[0].knd }}"},
            "question: .* has no attribute 'knd'",
        ),
        ({"inputs": ["third"]}, "made from its own answers: second <- third <- second"),
        ({"wants": {"sql": "title in (select titel from derived_kinds)"}}, "wants.sql: .* cannot be asked"),
    ],
)
def test_inputs_that_cannot_be_read_fail_with_file_key_and_reason(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    write(tmp_path)
    path = write(tmp_path, "second", key="second", **changes)
    if changes.get("inputs") == ["third"]:
        write(tmp_path, "third", key="third", inputs=["second"])
    with pytest.raises(InterrogationError, match=problem) as failed:
        read_interrogations(tmp_path)
    assert str(failed.value).startswith(f"{path}: ")


def test_quotes_need_a_page_to_be_quoted(tmp_path: Path) -> None:
    word = {"type": "string", "maxLength": 9, "description": "A word"}
    schema = {"type": "object", "properties": {"word": word}, "required": ["word"]}
    inline = [{"source": "inline", "text": "x"}]
    write(tmp_path, answer_schema=schema, rows={"quotes": ["word"]}, evidence=inline)
    with pytest.raises(InterrogationError, match=r"rows.quotes: no evidence is from a page"):
        read_interrogations(tmp_path)


def test_one_model_is_asked_with_one_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLOCRON_MODEL", raising=False)
    first, wider = write(tmp_path), {"num_ctx": 8192, "num_predict": 100}
    write(tmp_path, "sorts", key="sorts", model="qwen2.5-coder:0.5b", options=wider)
    write(tmp_path, "kinds_new", shadow=True, options=wider)
    assert len(read_interrogations(tmp_path)) == 3
    monkeypatch.setenv("HOLOCRON_MODEL", "smollm2:135m")
    with pytest.raises(
        InterrogationError, match=rf"sorts.yaml: options.num_ctx: is 8192, but 4096 in {first}"
    ):
        read_interrogations(tmp_path)
    monkeypatch.delenv("HOLOCRON_MODEL")
    write(tmp_path, alternatives=["qwen2.5-coder:0.5b"])
    with pytest.raises(InterrogationError, match=r"which may ask qwen2.5-coder:0.5b; .* give both the same"):
        read_interrogations(tmp_path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InterrogationError, match="the folder cannot be read"):
        read_interrogations(tmp_path / "nowhere")


def test_the_folder_can_be_moved(tmp_path: Path) -> None:
    assert written_by_people({})["interrogations"] == SHIPPED
    assert written_by_people({"HOLOCRON_INTERROGATIONS": str(tmp_path)})["interrogations"] == tmp_path


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("page_classification", "primary_type.*page_types is made from"),
        ("entity_extraction", "name, type, which tables entity_mentions, .* are made from"),
    ],
)
def test_an_interrogation_without_what_other_tables_need_is_refused(
    tmp_path: Path, key: str, problem: str
) -> None:
    write(tmp_path, key, key=key)
    with pytest.raises(InterrogationError, match=rf"answer_schema: lacks .*{problem}"):
        read_interrogations(tmp_path)


SHIPPED_ONES = read_interrogations(SHIPPED)
ASKING_MODELS = [one for one in SHIPPED_ONES if not one.is_of_code]


def test_thirteen_are_shipped_and_one_that_searches_for_them() -> None:
    assert [one.key for one in SHIPPED_ONES] == [
        "entity_extraction",
        "entity_facts",
        "entity_summary",
        "entity_timeline",
        "identity_check",
        "listed_names",
        "mention_summary",
        "mention_summary_passages",
        "page_classification",
        "page_events",
        "relationship_extraction",
        "sentence_statements",
        "statement_checks",
        "template_types",
    ]


def test_interrogations_of_one_model_share_a_context_so_that_it_is_never_reloaded() -> None:
    assert len({(one.model, one.options.num_ctx) for one in ASKING_MODELS}) == 1


@pytest.mark.parametrize("interrogation", ASKING_MODELS, ids=lambda one: one.key)
def test_a_shipped_one_asks_coolly_and_leaves_room_for_its_evidence(interrogation: Interrogation) -> None:
    assert interrogation.options.temperature == 0
    wanted = sum(estimate_tokens("word " * (spec.limit_bytes // 5)) for spec in interrogation.evidence)
    room = room_for_evidence(interrogation, system_part(interrogation), "x" * 300)
    assert room >= wanted + 50 * len(interrogation.evidence)


@pytest.mark.parametrize("interrogation", SHIPPED_ONES, ids=lambda one: one.key)
def test_quotes_in_a_shipped_examples_answer_are_in_its_evidence(interrogation: Interrogation) -> None:
    each = interrogation.rows.each
    for example in interrogation.examples:
        text = "\n".join(example.evidence.values())
        rows = example.answer[each] if each else [example.answer]
        quoted = [row[name] for row in rows for name in interrogation.rows.quotes]
        assert [quote for quote in quoted if not is_quoted(quote, text)] == []


def test_shipped_ones_are_read_once_a_process() -> None:
    assert load_interrogations() is load_interrogations()
