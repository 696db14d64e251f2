"""The API's JSON is distinguished from everything else that a web server may say."""

import json

import pytest

from holocron_assets.crawl.http.outcomes import HttpAnswer
from holocron_assets.crawl.mediawiki.answers import read_answer


def answer(body: str, status: int = 200, **headers: str) -> HttpAnswer:
    return HttpAnswer(status, headers, body.encode())


def test_an_answer_of_the_api_gives_its_query_and_where_it_goes_on() -> None:
    said = {"continue": {"plcontinue": "1|0|A", "continue": "||"}, "query": {"pages": []}}
    api = read_answer(answer(json.dumps(said)))
    assert (api.content, api.problem, api.error_code) == (said, None, None)
    assert api.query == {"pages": []}
    assert api.next_continue == {"plcontinue": "1|0|A", "continue": "||"}


def test_an_answer_without_anything_found_is_the_apis_all_the_same() -> None:
    api = read_answer(answer('{"batchcomplete": true}'))
    assert (api.problem, api.query, api.next_continue) == (None, {}, None)


def test_an_error_of_the_api_is_reported_in_its_own_words() -> None:
    api = read_answer(answer('{"error": {"code": "maxlag", "info": "Waiting for a server."}}'))
    assert (api.error_code, api.problem) == ("maxlag", "API error 'maxlag': Waiting for a server.")
    assert api.content is not None


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("", "not JSON"),
        ("<!DOCTYPE html><title>Log in</title>", "it starts with '<!DOCTYPE html><title>Log in</title>'"),
        ('{"batchcomplete": true, "query"', "not JSON"),
        ("null", "no JSON object"),
        ('["query"]', "no JSON object"),
        ('{"challenge": "prove that you are human"}', "not that of the API"),
        ('{"error": "login required"}', "not that of the API"),
        ("[" * 100_000, "not JSON (RecursionError)"),
        ('{"query": {"pages": [{"title": "\\ud800"}]}}', "not JSON (UnicodeEncodeError)"),
        ('{"query": {"pages": [{"title": "\\uDFFF"}]}}', "not JSON (UnicodeEncodeError)"),
    ],
)
def test_a_body_that_is_not_the_apis_json_gives_no_content(body: str, problem: str) -> None:
    api = read_answer(answer(body))
    assert (api.content, api.query, api.next_continue) == (None, {}, None)
    assert problem in str(api.problem)


def test_a_character_beyond_the_basic_plane_may_be_escaped() -> None:
    assert read_answer(answer('{"query": {"name": "\\ud83d\\ude80"}}')).query == {"name": "\N{ROCKET}"}


@pytest.mark.fault(4, "JSON that says a key twice")
def test_of_a_key_that_is_said_twice_the_last_counts() -> None:
    assert read_answer(answer('{"query": {"a": 1}, "query": {"b": 2}}')).query == {"b": 2}


def test_commas_within_texts_are_no_values() -> None:
    text = ',[{\\"' * 1_000_000
    assert read_answer(answer(f'{{"query": {{"text": "{text}"}}}}')).problem is None


@pytest.mark.fault(4, "an error of the API, or an address, that fills megabytes")
def test_what_a_server_says_is_cut_to_the_length_of_an_error() -> None:
    long = "y" * 100_000
    said = json.dumps({"error": {"code": long, "info": long}})
    for read in (read_answer(answer(said)), read_answer(answer("", 301, location=f"http://{long}/"))):
        assert len(str(read.problem)) < 1000


def test_bytes_that_are_not_utf8_give_no_content() -> None:
    assert read_answer(HttpAnswer(200, {}, b'{"query": "\xff"}')).content is None


def test_an_api_that_moved_is_reported_with_its_new_address() -> None:
    problem = read_answer(answer("", 301, location="https://new.example.org/api.php")).problem
    assert "'https://new.example.org/api.php'" in str(problem)
    assert "put that address in the source file" in str(problem)


def test_a_network_error_is_passed_on() -> None:
    assert read_answer(HttpAnswer(error="ReadError: reset")).problem == "ReadError: reset"
