"""The kinds of evidence that an interrogation may list under `evidence`."""

from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    field_validator,
    model_validator,
)

from holocron_assets.classify.taxonomy import known_types
from holocron_assets.derive.evidence.queries import check_query
from holocron_assets.derive.evidence.sampling import Sample
from holocron_assets.frozen_model import FrozenModel

MOST_ITEMS = 50
MOST_BYTES = 100_000
MOST_ITEM_BYTES = 10_000
MOST_ROWS_SHOWN = 100
MOST_COLUMNS = 20
MOST_PASSAGES = 20

PagePart = Literal["lead", "text", "infobox", "categories", "sections", "all"]
PageRole = Literal["page", "first", "second"]
Value = str | int | float | bool | None


class _Spec(FrozenModel):
    """The keys that all kinds of evidence have.

    Attributes:
        label: its name in the prompt; by default its kind, such as 'lead'.
        limit_bytes: the most UTF-8 bytes of it to keep.
    """

    # A label stands in the line that opens an item, where nothing may resemble a delimiter.
    label: str | None = Field(default=None, pattern=r"^[\w ,.'()-]{1,60}$")
    limit_bytes: int = Field(default=MOST_ITEM_BYTES, gt=0, le=MOST_ITEM_BYTES)


class _Rows(_Spec):
    """The keys that all kinds of evidence made of rows have.

    Attributes:
        rows: the most rows to keep.
        sample: which rows are kept if there are more.
    """

    rows: int = Field(default=MOST_ROWS_SHOWN, gt=0, le=MOST_ROWS_SHOWN)
    sample: Sample = "first"


class InlineEvidence(_Spec):
    """A text that the interrogation itself gives. A quote from it supports nothing."""

    source: Literal["inline"]
    text: str = Field(min_length=1)


class PageEvidence(_Spec):
    """A part of a page as clean text.

    Attributes:
        part: 'all' is infobox, categories and text, as one item each.
        of: the page asked about, or the page of a pair's first or second entity.
    """

    source: Literal["page"]
    part: PagePart
    of: PageRole = "page"


class ChunkEvidence(_Spec):
    """The chunk of the page that the item is about. The interrogation says `chunk_characters`."""

    source: Literal["chunk"]


class SqlResultEvidence(_Rows):
    """Rows that the interrogation itself gives, as a table."""

    source: Literal["sql_result"]
    columns: tuple[str, ...] = Field(min_length=1)
    values: tuple[tuple[Value, ...], ...]

    @model_validator(mode="after")
    def _rows_fit_the_columns(self) -> Self:
        for number, row in enumerate(self.values):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"row {number} of values has {len(row)} values for {len(self.columns)} columns"
                )
        return self


class SqlEvidence(_Rows):
    """The rows of a query over the lake's public views.

    It may name values of the page: `$source`, `$batch`, `$title`, `$title_key`, `$page_id`, `$revision_id`,
    with `first_` or `second_` before the name for a pair; for an entity also `$entity_id`, `$entity_type` and
    others. If it does not order its rows, they are sorted, so that the same lake gives the same evidence.

    Attributes:
        sql: one SELECT, such as `select from_title from page_links where target_key = $title_key`.
        timeout_seconds: how long it may take.
    """

    source: Literal["sql"]
    sql: str
    timeout_seconds: float = Field(default=10, gt=0, le=60)

    @field_validator("sql")
    @classmethod
    def _only_reads(cls, sql: str) -> str:
        check_query(sql)
        return sql


class AnswersEvidence(_Rows):
    """Another interrogation's answers about the same page or pair, as a table.

    Attributes:
        of: the key of that interrogation, which must be one of `inputs`.
    """

    source: Literal["answers"]
    of: str


class SearchEvidence(_Spec):
    """Passages that a search finds, the best first, a piece each.

    Attributes:
        source: always 'search'.
        label: the name of the passages in the prompt.
        limit_bytes: the most UTF-8 bytes to keep.
        query: a template of what is searched; it may name what the question may name.
        space: the space whose vectors are searched too; by default, only words are searched.
        limit: the most passages.
        same_page: whether passages of the pages that the item is about may be found.
        types: only passages of pages of these types.
    """

    source: Literal["search"]
    query: str = Field(pattern=r"\S")
    space: str | None = None
    limit: int = Field(default=5, gt=0, le=MOST_PASSAGES)
    same_page: bool = False
    types: Annotated[tuple[str, ...] | None, AfterValidator(known_types)] = Field(default=None, min_length=1)
    _of: str = PrivateAttr("")

    @property
    def of(self) -> str:
        """The key of the interrogation that searches, once it is known."""
        return self._of

    def found_by(self, key: str) -> Self:
        """The same evidence, of what the interrogation of a key found."""
        known = self.model_copy()
        known._of = key  # noqa: SLF001 - it is of this class
        return known


EvidenceSpec = Annotated[
    InlineEvidence
    | PageEvidence
    | ChunkEvidence
    | SqlResultEvidence
    | SqlEvidence
    | AnswersEvidence
    | SearchEvidence,
    Field(discriminator="source"),
]
