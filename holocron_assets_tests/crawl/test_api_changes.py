"""What the API's answers on changes are read as."""

from datetime import UTC, datetime
from typing import Any

import pytest

from holocron_assets.crawl.mediawiki.answers import ApiAnswer
from holocron_assets.crawl.mediawiki.changes import difference, read_changes

AT = datetime(2026, 11, 21, 14, 47, 15, tzinfo=UTC)


def entry(**said: Any) -> dict[str, Any]:
    return {"rcid": 4, "ns": 0, "title": "Gamma", "timestamp": "2026-11-21T14:47:15Z", "revid": 0, **said}


def logged(log: str, action: str, **said: Any) -> dict[str, Any]:
    return entry(type="log", logtype=log, logaction=action, **{"logparams": {}, **said})


def changes(*entries: dict[str, Any]) -> list[tuple[str, str, int | None]]:
    content = {"curtimestamp": "2026-11-21T15:00:00Z", "query": {"recentchanges": list(entries)}}
    listed = read_changes(ApiAnswer(content))
    found = [change for one in listed.entries for change in one.changes]
    assert all(change.changed_at == AT for change in found)
    return [(change.kind, change.title, change.revision_id) for change in found]


def test_an_edit_and_a_new_page_name_their_revision() -> None:
    assert changes(entry(type="edit", revid=7)) == [("edit", "Gamma", 7)]
    assert changes(entry(type="new", revid=8)) == [("new", "Gamma", 8)]


def test_a_move_is_a_change_of_both_pages() -> None:
    parameters = {"target_ns": 0, "target_title": "Gamma two", "suppressredirect": False}
    found = changes(logged("move", "move", revid=7, logparams=parameters))
    assert found == [("move", "Gamma", None), ("move", "Gamma two", None)]


def test_a_move_that_leaves_no_redirect_leaves_nothing() -> None:
    parameters = {"target_ns": 0, "target_title": "Gamma two", "suppressredirect": True}
    found = changes(logged("move", "move_redir", logparams=parameters))
    assert found == [("delete", "Gamma", None), ("move", "Gamma two", None)]


@pytest.mark.parametrize("action", ["delete", "delete_redir", "delete_redir2"])
def test_deletions_by_hand_and_by_a_move_are_deletions(action: str) -> None:
    assert changes(logged("delete", action)) == [("delete", "Gamma", None)]


def test_restorations_and_imports_bring_revisions_back() -> None:
    restored = [("restore", "Gamma", None)]
    assert changes(logged("delete", "restore", logparams={"count": {"revisions": 1}})) == restored
    assert changes(logged("import", "interwiki", revid=9)) == restored


def test_a_merge_of_histories_changes_both_pages() -> None:
    found = changes(logged("merge", "merge", logparams={"dest_ns": 0, "dest_title": "Delta"}))
    assert found == [("restore", "Gamma", None), ("restore", "Delta", None)]


def test_a_log_entry_that_made_a_revision_is_an_edit_and_any_other_is_none() -> None:
    assert changes(logged("protect", "protect", revid=12)) == [("edit", "Gamma", 12)]
    assert changes(logged("delete", "revision"), logged("patrol", "patrol")) == []


def test_an_entry_whose_page_is_hidden_is_no_change() -> None:
    hidden = logged("delete", "delete", actionhidden=True)
    del hidden["title"]
    assert changes(hidden) == []


def test_log_parameters_that_are_a_list_or_absent_are_none() -> None:
    assert changes(logged("move", "move", logparams=[])) == [("move", "Gamma", None)]


def test_an_answer_says_when_it_was_given_and_where_its_list_goes_on() -> None:
    following = {"rccontinue": "20261121144715|3", "continue": "-||"}
    listed = read_changes(ApiAnswer({"curtimestamp": "2026-11-21T15:00:00Z", "continue": following}))
    assert listed.wiki_time == datetime(2026, 11, 21, 15, tzinfo=UTC)
    assert (listed.entries, listed.following) == ((), following)


@pytest.mark.parametrize(
    "content",
    [
        {"query": {"recentchanges": []}},
        {"curtimestamp": "2026-11-21T15:00:00Z", "query": {"recentchanges": [{"title": "A"}]}},
        {"curtimestamp": "soon", "query": {"recentchanges": []}},
    ],
)
def test_an_answer_without_time_or_numbers_is_not_mediawikis(content: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        read_changes(ApiAnswer(content))


@pytest.mark.parametrize(
    ("known", "page", "found"),
    [
        (7, {"lastrevid": 7}, None),
        (7, {"lastrevid": 9}, ("edit", 9)),
        (7, {"lastrevid": 5}, ("restore", 5)),
        (7, {"missing": True}, ("delete", None)),
        (None, {"missing": True}, None),
        (None, {"lastrevid": 9}, ("new", 9)),
        (7, {"invalid": True}, None),
        (7, {}, None),
    ],
)
def test_a_page_that_is_not_as_we_know_it_was_changed(
    known: int | None, page: dict[str, Any], found: tuple[str, int | None] | None
) -> None:
    assert difference(known, page) == found
