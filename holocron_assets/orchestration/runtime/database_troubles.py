"""Errors of Dagster's own database, as one line that names it and says what to do."""

from urllib.parse import urlsplit

from sqlalchemy.exc import SQLAlchemyError

from holocron_assets.settings import dagster_home, database_address

_ONLY_HISTORY = "it is damaged, and holds only the history of runs: move its folder away to begin a new one"
_ADVICE = {
    "locked": "another program holds it: end that, or wait for it",
    "disk is full": "free some space on its disk",
    "readonly": "let this user write there",
    "malformed": _ONLY_HISTORY,
    "not a database": _ONLY_HISTORY,
    "unable to open": "check that its folder exists, and that this user may write there",
}


def database_trouble(error: BaseException) -> str | None:
    """What is wrong with Dagster's database, SQLite or PostgreSQL, and what to do; None for other errors.

    Finished work is in the lake; the same command continues from there.
    """
    trouble = _trouble_behind(error)
    if trouble is None:
        return None
    what = str(getattr(trouble, "orig", None) or trouble).strip().partition("\n")[0]
    advice = next(
        (advice for sign, advice in _ADVICE.items() if sign in what),
        "check that it can be used and its disk has room",
    )
    return f"Dagster's database {_place()} failed: {what}; {advice}, then give the same command again"


def _trouble_behind(error: BaseException | None) -> SQLAlchemyError | None:
    """The database's error that an error is, or was caused by."""
    while error is not None:
        if isinstance(error, SQLAlchemyError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _place() -> str:
    """Where the database is, without name or password."""
    if url := database_address():
        parts = urlsplit(url)
        return f"at {parts.hostname}:{parts.port or 5432}"
    home = dagster_home()
    return f"in {home}" if home.is_dir() else f"in {home}, which is gone,"
