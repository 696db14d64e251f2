"""Values as literals of SQL, for places that take no parameters, such as views and patterns of files."""


def quoted(value: object) -> str:
    """A text, or another value as text, as a literal of SQL."""
    return "'" + str(value).replace("'", "''") + "'"
