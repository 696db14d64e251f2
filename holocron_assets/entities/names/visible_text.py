"""Text of a wiki, or of a model, in a form that is safe to show."""

import unicodedata


def visible(text: str, most: int) -> str:
    """A text in one line, without characters that cannot be seen.

    Args:
        text: any text.
        most: characters that are kept.

    Returns:
        The text in NFC, words apart by single spaces; empty if nothing can be seen.
    """
    composed = unicodedata.normalize("NFC", text)
    if not composed.isprintable():
        composed = "".join(map(_seen, composed))
    return " ".join(composed.split())[:most].strip()


def _seen(character: str) -> str:
    if character.isprintable():
        return character
    # Format characters stand inside words; all other unprintable characters stand between them.
    return "" if unicodedata.category(character) == "Cf" else " "
