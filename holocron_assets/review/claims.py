"""Statements as a reader wants them: what is said, once, with all who say it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from holocron_assets.review.statements import Statement


@dataclass(frozen=True)
class Claim:
    """What one or more statements say alike.

    Attributes:
        text: what they say.
        other_id: the other entity of relations, if it is known.
        statements: those that say it.
        is_open: whether a person is asked about one of them: it is disputed, or in the review queue.
    """

    text: str
    other_id: str | None
    statements: Sequence[Statement]
    is_open: bool

    @property
    def is_disputed(self) -> bool:
        """Whether another value stands against it, and nobody accepted one."""
        return any(one.is_disputed for one in self.statements)

    @property
    def details(self) -> list[str]:
        """Details of any of its statements, each once."""
        return list(dict.fromkeys(detail for one in self.statements for detail in one.details))

    @property
    def said_by(self) -> list[str]:
        """Who says it: 'infobox', 'sentence', or the model."""
        return list(dict.fromkeys(one.row["model"] or one.row["method"] for one in self.statements))

    @property
    def statuses(self) -> list[str]:
        """The statuses of its statements, without 'stated'."""
        return list(dict.fromkeys(one.status for one in self.statements if one.status != "stated"))


def claims(
    groups: Mapping[str, Iterable[Statement]], open_ids: Collection[str], *, of_others: bool = False
) -> dict[str, list[Claim]]:
    """The claims of groups of statements, under the names of the groups and in their order.

    Args:
        groups: statements, as `by_predicate` groups them.
        open_ids: ids of the statements that are in the review queue.
        of_others: whether they are relations of other entities, so that a claim names that entity.
    """
    return {name: _claims(statements, open_ids, of_others=of_others) for name, statements in groups.items()}


def _claims(statements: Iterable[Statement], open_ids: Collection[str], *, of_others: bool) -> list[Claim]:
    alike: dict[tuple[str, str | None], list[Statement]] = {}
    for one in statements:
        text, other_id = (one.entity_name, one.entity_id) if of_others else (one.value, one.to_id)
        alike.setdefault((text.casefold(), other_id), []).append(one)
    return [
        Claim(
            found[0].entity_name if of_others else found[0].value,
            other_id,
            found,
            any(one.is_disputed or one.statement_id in open_ids for one in found),
        )
        for (_, other_id), found in alike.items()
    ]
