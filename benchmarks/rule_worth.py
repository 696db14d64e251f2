"""How often each rule was right about a page where other evidence contradicted it, or it was unsure itself.

Run: python benchmarks/import_dump.py --folder FOLDER, then python benchmarks/rule_worth.py FOLDER/whole/data

The truth about a page is a person's decision, else its infobox template by `type_scoring.yaml`, which was
written before the rules. Only answers at a confidence of 0.75 or more and below 0.90 count: surer ones ask
nobody. Writes `holocron_assets/entities/rule_worth.yaml`, by which such entities are promoted.
"""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from holocron_assets.entities.promotion import DEFAULT_WORTH_FILE
from holocron_assets.lake.files.people_yaml import load_yaml
from holocron_assets.lake.place.paths import Lake
from holocron_assets.lake.views.database import connect, query

SCORING_FILE = Path(__file__).with_name("type_scoring.yaml")
ANSWERS = """
    select
        rules.rule_ids[1] as rule, rules.primary_type as said, signals.infobox_template as template,
        case when types.method = 'person' then types.primary_type end as decided
    from lake.rule_classifications as rules
    join lake.page_signals as signals using (batch, title_key)
    join lake.page_types as types using (batch, title_key)
    where rules.confidence >= 0.75 and rules.confidence < 0.90
"""
HEAD = """\
# How often rules were right where other evidence contradicted them, or they were unsure themselves: pages
# that a rule typed at a confidence of 0.75 or more and below 0.90, and of these the ones that it typed
# rightly by people or by the infobox's template. Made by benchmarks/rule_worth.py, see docs/identity.md.
"""


def main() -> None:
    """Write the file, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("lake", type=Path, help="a lake that holds imported pages")
    found = counted(Lake(parser.parse_args().lake))
    with DEFAULT_WORTH_FILE.open("w", encoding="utf-8") as file:
        file.write(HEAD)
        yaml.safe_dump({"rules": found}, file, sort_keys=False)
    print(DEFAULT_WORTH_FILE.read_text(encoding="utf-8"))


def counted(lake: Lake) -> dict[str, dict[str, int]]:
    """Right answers and all, by rule, the most frequent first."""
    truths: dict[str, Any] = load_yaml(SCORING_FILE.read_text(encoding="utf-8"))
    right, pages = Counter[str](), Counter[str]()
    with connect(lake) as connection:
        for row in query(connection, ANSWERS):
            scored = truths.get((row["template"] or "").replace("_", " "))
            wanted = [row["decided"]] if row["decided"] else scored and scored["types"]
            if wanted:
                pages[row["rule"]] += 1
                right[row["rule"]] += row["said"] in wanted
    return {rule: {"right": right[rule], "pages": number} for rule, number in pages.most_common()}


if __name__ == "__main__":
    main()
