"""The ids of tags: `TYPE:NAME`, the same for all ways to write the name."""

from holocron_assets.entities.names.visible_text import visible

LONGEST_TAG = 255
"""Most characters of a tag's name: a category has no more bytes."""


def tag_name(text: str) -> str:
    """A tag as people read it: one line, no character that cannot be seen."""
    return visible(text.replace("_", " "), LONGEST_TAG)


def tag_id(kind: str, name: str) -> str:
    """The id of a tag of a type, by any way of writing its name."""
    return f"{kind}:{tag_name(name).casefold()}"
