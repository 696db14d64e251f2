"""What the commands of `holocron` share: options, the display of errors, and where things are."""

import getpass
import os
import re
import select
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from holocron_assets.crawl.sources.files import AnySource, load_any_source, load_source, read_any_sources
from holocron_assets.crawl.sources.source import Source
from holocron_assets.derive.interrogations.loading import left_out, load_interrogations
from holocron_assets.derive.opening import open_lake
from holocron_assets.errors import HolocronError
from holocron_assets.lake.files.damage import FileFault, UnreadableFileError
from holocron_assets.lake.place.known import refuse_gone
from holocron_assets.lake.place.mounts import refuse_unmounted
from holocron_assets.lake.place.paths import Lake
from holocron_assets.settings import dagster_home, data_folder, sources_folder, state_folder
from holocron_assets.telemetry.long_work import progress_lines

if TYPE_CHECKING:
    from holocron_assets.derive.interrogations.interrogation import Interrogation

_TAG_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,62}")
_TAG_VALUE = re.compile(r"[A-Za-z0-9_.-]{1,63}")
_SHOWN_AROUND = 20  # characters of a text beside the one that is wrong

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


def refuse_empty(_context: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    """The names given to an option. An empty one is refused: it is an empty shell variable, not "all"."""
    if given is not None and not all(name.strip() for name in given.split(",")):
        raise click.BadParameter("a name is empty; leave the option out if all are meant")
    return given


source_option = click.option(
    "--source", "source_name", metavar="NAME", callback=refuse_empty, help="Only this source."
)


class Folder(click.Path):
    """A folder. An empty name is refused: it is an empty shell variable, and not the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Its path."""
        if value == "":
            self.fail("the name is empty; say . for the current folder", param, ctx)
        return super().convert(value, param, ctx)


reason_option = click.option("--reason", required=True, help="Why; it is kept.")


def user_name() -> str:
    """The name of the user of this machine; the id of one without a name, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return f"user {os.getuid()}"


author_option = click.option("--author", default=user_name, help="Who decides; by default you.")
domain_option = click.option("--domain", metavar="WORD", help="Only interrogations of this domain.")


def of_domain(domain: str | None) -> "list[Interrogation]":
    """The interrogations of a domain; all without one.

    Raises:
        click.UsageError: no interrogation is of this domain; names those that there are.
    """
    asked = list(load_interrogations())
    if domain is None:
        return asked
    if not (found := [one for one in asked if one.domain == domain]):
        known = sorted({one.domain for one in asked if one.domain})
        others = f"there are {', '.join(known)}" if known else "no file of an interrogation names a domain"
        raise click.UsageError(f"no interrogation is of domain {domain!r}; {others}")
    return found


def _tags(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Tags that were given as KEY=VALUE."""
    tags = dict(one.partition("=")[::2] for one in given)
    for key, value in tags.items():
        if not (_TAG_KEY.fullmatch(key) and _TAG_VALUE.fullmatch(value)):
            raise click.BadParameter(
                f"{key}={value}: a tag is KEY=VALUE, each of at most 63 letters, digits, '_', '-' or '.'"
            )
    return tags


tag_option = click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_tags,
    help="Tag of the runs, to find their results by; may be repeated.",
)


def _joined(_context: click.Context, _argument: click.Parameter, words: tuple[str, ...]) -> str:
    return " ".join(words)


def words_argument(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The last argument of a command: a text of several words, which needs no quotes in a shell."""
    return click.argument(name, nargs=-1, required=True, callback=_joined)


def clear_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Show errors that a person can act on as a message, without a traceback.

    A reader that takes only the first lines and closes the pipe (`| head`) is no error.
    """

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        problem: str | None = None
        try:
            command(*arguments, **options)
        except SystemExit as ended:
            # Rich exits with 1 if the pipe that it prints into was closed.
            if not isinstance(ended.__context__, BrokenPipeError):
                raise
        except BrokenPipeError as error:
            problem = None if _nobody_reads_on() else str(error)
        except click.ClickException:
            raise
        except Exception as error:
            if (problem := _problem(error)) is None:
                raise
        # Raised without its cause: the cause keeps DuckDB objects alive too long, and DuckDB would warn.
        if problem is not None:
            raise click.ClickException(problem)

    return run


def _problem(error: Exception) -> str | None:
    """The message of an error, without secrets; None if a person cannot act on the error."""
    # Dagster's database takes a second to import: only commands that failed wait for it.
    import duckdb

    from holocron_assets.orchestration.runtime.database_troubles import database_trouble
    from holocron_assets.telemetry.masking import without_secrets

    if isinstance(error, (HolocronError, OSError, duckdb.Error)):
        message: str | None = str(error)
    elif isinstance(error, UnicodeEncodeError):
        message = _not_utf8(error)
    else:
        message = database_trouble(error)
    return None if message is None else without_secrets(message)


def _not_utf8(error: UnicodeEncodeError) -> str | None:
    """What is wrong with a text that was given; None if another text cannot be encoded."""
    if error.reason != "surrogates not allowed":  # Python reads bytes that are not UTF-8 as these
        return None
    near = error.object[max(0, error.start - _SHOWN_AROUND) : error.end + _SHOWN_AROUND]
    return f"{near!r} has bytes that are not UTF-8: write it in UTF-8"


def _nobody_reads_on() -> bool:
    """Whether standard output is a closed pipe; if so, discard the rest of the output."""
    output = sys.stdout.fileno()
    poll = select.poll()
    poll.register(output, 0)  # POLLERR is reported whether it is asked for or not
    if not any(events & select.POLLERR for _, events in poll.poll(0)):
        return False
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), output)
    return True


def opened_lake() -> Lake:
    """The lake of the data folder, with the tables of interrogations. Broken interrogations are named.

    Raises:
        PermanentError: the disk that it was on is not mounted: it would look empty.
        FolderGoneError: Dagster has worked on it, and it is gone.
    """
    _refuse_absent()
    for problem in left_out().values():
        from holocron_assets.telemetry.masking import without_secrets

        click.echo(without_secrets(f"An interrogation is left out: {problem}"), err=True)
    return open_lake(data_folder())


def bare_lake() -> Lake:
    """The lake without tables of interrogations, for commands that must work while one's file is broken.

    Raises:
        PermanentError: the disk that it was on is not mounted.
        FolderGoneError: Dagster has worked on it, and it is gone.
    """
    _refuse_absent()
    return Lake(data_folder())


def _refuse_absent() -> None:
    data = data_folder()
    if data.is_file():
        fail(f"HOLOCRON_DATA names {data}, which is a file: name a folder")
    refuse_unmounted(data, state_folder())
    refuse_gone(data, dagster_home())


def named_source(name: str) -> Source:
    """The source that a person named.

    Raises:
        SourceError: its file is missing or wrong.
    """
    return load_source(sources_folder() / f"{name}.yaml")


def any_named_source(name: str) -> AnySource:
    """The source that a person named, of pages or of files.

    Raises:
        SourceError: its file is missing or wrong.
    """
    return load_any_source(sources_folder() / f"{name}.yaml")


def all_sources() -> list[Source]:
    """Every source of pages whose file can be read; for each other one, an error is printed."""
    return [source for source in all_sources_of_any_kind() if isinstance(source, Source)]


def all_sources_of_any_kind() -> list[AnySource]:
    """Every source of pages or files whose file can be read; for each other one, an error is printed."""
    found, errors = read_any_sources(sources_folder())
    for error in errors:
        click.echo(str(error), err=True)
    return list(found.values())


def waiting_reported(doing: Callable[[], str]) -> AbstractContextManager[None]:
    """While the block lasts, print every few seconds on stderr what it waits for, unless in a terminal."""
    if sys.stderr.isatty():
        return nullcontext()
    return progress_lines(doing, partial(click.echo, err=True))


def counted(number: int, thing: str) -> str:
    """A number of things, in words."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def faults_counted(faults: Sequence[FileFault]) -> str:
    """How many files were found damaged, and how many the system could not read."""
    unread = sum(isinstance(fault, UnreadableFileError) for fault in faults)
    damaged = len(faults) - unread
    said = [f"{counted(damaged, 'file')} found damaged"] if damaged else []
    said += [f"{counted(unread, 'file')} could not be read"] if unread else []
    return ", ".join(said)


def fail(message: str) -> NoReturn:
    """End the command with a message, and exit code 1."""
    raise click.ClickException(message)
