"""Checks of models' answers, one set for each interrogation. They only warn: an answer is a proposal."""

from collections.abc import Sequence

import dagster as dg

from holocron_assets.derive.interrogations.interrogation import Interrogation
from holocron_assets.lake.views.database import connect, query
from holocron_assets.orchestration.resources.resources import LakeResource
from holocron_assets.orchestration.runs.failures import clear_failures
from holocron_assets.orchestration.runs.retries import LAKE

UNANSWERED_LIMIT = 0.05
"""Largest share of items that may be given up."""

UNSUPPORTED_LIMIT = 0.20
"""Largest share of rows with a quote that is not in the page's text."""

_GIVEN_UP = """
    select count(*) as items, count(*) filter (where status = 'dead') as given_up
    from lake.llm_runs where interrogation = $name
"""


def derive_checks(interrogations: Sequence[Interrogation]) -> list[dg.AssetChecksDefinition]:
    """The checks of some interrogations' assets."""
    answered = [_few_are_given_up(one) for one in interrogations]
    return answered + [_quotes_are_found(one) for one in interrogations if one.rows.quotes]


def _few_are_given_up(interrogation: Interrogation) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=interrogation.table.name,
        name="few_are_given_up",
        description=f"The model answered about all but {UNANSWERED_LIMIT:.0%} of what it was asked.",
        retry_policy=LAKE,
    )
    @clear_failures()
    def check(lake: LakeResource) -> dg.AssetCheckResult:
        with connect(lake.open(), relations=["lake.llm_runs"]) as connection:
            (found,) = query(connection, _GIVEN_UP, {"name": interrogation.name})
        return _result(found["given_up"], found["items"], UNANSWERED_LIMIT, "items were given up")

    return check


def _quotes_are_found(interrogation: Interrogation) -> dg.AssetChecksDefinition:
    table = interrogation.table.name

    @dg.asset_check(
        asset=table,
        name="quotes_are_found",
        description=f"Of {1 - UNSUPPORTED_LIMIT:.0%} of the rows, what they quote is in the page's text.",
        retry_policy=LAKE,
    )
    @clear_failures()
    def check(lake: LakeResource) -> dg.AssetCheckResult:
        sql = (
            f"select count(*) as rows, count(*) filter (where not supported) as unsupported from lake.{table}"  # noqa: S608 - a declared name
        )
        with connect(lake.open(), relations=[f"lake.{table}"]) as connection:
            (found,) = query(connection, sql)
        return _result(found["unsupported"], found["rows"], UNSUPPORTED_LIMIT, "rows quote what is not there")

    return check


def _result(bad: int, whole: int, limit: float, what: str) -> dg.AssetCheckResult:
    share = bad / whole if whole else 0.0
    return dg.AssetCheckResult(
        passed=share <= limit,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"{bad} of {whole} {what}; the limit is {limit:.0%}",
        metadata={"share": share},
    )
