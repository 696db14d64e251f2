"""The sheet of marked statements: what is read, and how bad files are refused."""

from pathlib import Path

import pytest

from holocron_assets.entities.facts.marked_statements import Marked, MarkedStatementsError, read_marked
from holocron_assets.settings import marked_statements_folder

HEADER = "page,kind,subject,key,other,first_reader,second_reader,mark\n"
LED = "Ifa Roon,relation,Ifa Roon,led,Grey Guard,right,unclear,right\n"


def sheet(folder: Path, text: str, name: str = "one.csv") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_files_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    sheet(tmp_path, HEADER + 'Varn,fact,Varn,born,"12, or 13 BBY",wrong,wrong,wrong\n', "two.csv")
    sheet(tmp_path, HEADER + LED)
    sheet(tmp_path, "no CSV at all", "notes.md")
    assert read_marked(tmp_path) == [
        Marked("Ifa Roon", "relation", "Ifa Roon", "leads", "Grey Guard", "right"),
        Marked("Varn", "fact", "Varn", "born", "12, or 13 BBY", "wrong"),
    ]


def test_without_a_folder_nothing_is_marked(tmp_path: Path) -> None:
    assert read_marked(tmp_path / "none") == []


def test_further_columns_and_another_order_are_no_error(tmp_path: Path) -> None:
    names = "mark,note,page,kind,subject,key,other,first_reader,second_reader\n"
    sheet(tmp_path, "\ufeff" + names + "unclear,hm,Varn,fact,Varn,born,12 BBY,,\n")
    assert read_marked(tmp_path) == [Marked("Varn", "fact", "Varn", "born", "12 BBY", "unclear")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("page,kind\n", "one.csv: lacks subject, key, other, first_reader, second_reader, mark"),
        ("", "one.csv: lacks page"),
        (HEADER + LED.replace("Grey Guard", " "), "one.csv: line 2: other: is empty"),
        (HEADER + LED + LED.replace("relation", "rumour"), "line 3: kind: is 'rumour'"),
        (
            HEADER + LED.replace(",right\n", ",Right\n"),
            "mark: is 'Right'; it must be one of right, wrong, unclear",
        ),
        (HEADER + LED.replace("led", "steal"), "key: 'steal' is no key of a relation in the vocabulary"),
        (HEADER + "Varn,fact\n", "line 2: subject, key, other: is empty"),
        (HEADER + 'Varn,"fact"x,a,b,c,d,e,right\n', "is no readable CSV file"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(MarkedStatementsError) as error:
        read_marked(sheet(tmp_path, text))
    assert problem in str(error.value)


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_bytes(HEADER.encode() + b"Varn\xe9,fact,Varn,born,12,,,right\n")
    with pytest.raises(MarkedStatementsError, match=r"one\.csv: is no readable CSV file in UTF-8"):
        read_marked(tmp_path)


def test_the_committed_sheet_can_be_read() -> None:
    assert all(row.page for row in read_marked(marked_statements_folder()))
