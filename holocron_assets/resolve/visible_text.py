"""Text of a wiki, or of a model, as people may be shown it."""

import unicodedata


def visible(text: str, most: int) -> str:
    """A text in one line, without characters that cannot be seen.

    Args:
        text: any text.
        most: characters that are kept.

    Returns:
        The text in NFC, words apart by single spaces; empty if nothing can be seen.
    """
    seen = (
        # Format characters stand inside words; whatever else cannot be printed stands between them.
        "" if unicodedata.category(character) == "Cf" else character if character.isprintable() else " "
        for character in unicodedata.normalize("NFC", text)
    )
    return " ".join("".join(seen).split())[:most].strip()
