"""Which fields of other pages' infoboxes name a page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from article_lake import article_lake
from review_lake import write

from holocron_assets.classify.learned.naming import naming_fields
from holocron_assets.lake.declaration.keys import title_key
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.tables import PAGE_LINKS

SOURCE, BATCH, OTHER = "sample", "sample-000001", "sample-000002"
PLACE = {"title": "Vessa (moon)"}


def named(lake: Lake, batch: str = BATCH) -> Mapping[int, Sequence[str]]:
    with naming_fields(lake, SOURCE) as of_batch:
        return of_batch(batch)


def with_infobox(title: str, template: str, **values: str) -> dict[str, Any]:
    return {
        "title": title,
        "infobox_template": template,
        "infobox_fields": [{"name": name, "value": value} for name, value in values.items()],
    }


def linked(lake: Lake, *links: tuple[str, str], batch: str = BATCH, kind: str = "link") -> None:
    rows = [
        {
            "source": SOURCE,
            "batch": batch,
            "from_key": title_key(SOURCE, one),
            "kind": kind,
            "target": other,
            "target_key": title_key(SOURCE, other),
        }
        for one, other in links
    ]
    write(lake, PAGE_LINKS, batch, rows)


def test_a_page_is_named_by_the_fields_that_link_to_it_the_most_frequent_first(tmp_path: Path) -> None:
    people = [with_infobox(f"Person {n}", "Person", heimat="Vessa; Thuum", herr="Bo") for n in range(2)]
    ship = with_infobox("Heron", "Schiff", hafen="Vessa (moon), since the war")
    lake = article_lake(tmp_path, sample_000001=[PLACE, ship], sample_000002=people)
    linked(lake, ("Heron", "Vessa (moon)"))
    linked(lake, *((person["title"], "Vessa (moon)") for person in people), batch=OTHER)
    assert named(lake) == {title_key(SOURCE, "Vessa (moon)"): ["Person.heimat", "Schiff.hafen"]}
    assert named(lake, OTHER) == {}


def test_what_a_field_only_says_or_only_the_text_links_to_names_no_page(tmp_path: Path) -> None:
    said = with_infobox("Isa", "Person", heimat="Vessa")
    elsewhere = with_infobox("Bo", "Person", heimat="Thuum")
    lake = article_lake(tmp_path, sample_000001=[PLACE, said, elsewhere])
    linked(lake, ("Bo", "Vessa (moon)"))
    assert named(lake) == {}


def test_a_page_does_not_name_itself(tmp_path: Path) -> None:
    lake = article_lake(tmp_path, sample_000001=[with_infobox("Vessa", "Ort", name="Vessa")])
    linked(lake, ("Vessa", "Vessa"))
    assert named(lake) == {}


def test_an_infobox_of_an_older_revision_names_nothing(tmp_path: Path) -> None:
    old, now = with_infobox("Isa", "Person", heimat="Vessa"), {"title": "Isa"}
    lake = article_lake(tmp_path, sample_000001=[PLACE, old], sample_000002=[{**now, "revision_id": 9}])
    linked(lake, ("Isa", "Vessa (moon)"))
    assert named(lake) == {}
