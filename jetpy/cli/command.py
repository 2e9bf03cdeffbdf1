"""Exit of commands: every expected error becomes one line and an exit code."""

from __future__ import annotations

import inspect
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from typing import Any

import click
from click.core import ParameterSource

from jetpy.cli.launched import launcher_started_many, rank_from_environment
from jetpy.errors import JetpyError, MissingFileError, OptionError

WRONG, WRONG_USE, INFEASIBLE = 1, 2, 3
INTERRUPTED = 130
COMMAND_LINE = "jetpy.cli.command.line"


class Failure(click.ClickException):
    """An error that does not concern the command line, printed in one line; exit code 1."""

    def show(self, file: Any = None) -> None:
        """Print the message to standard error."""
        notify("error", self.format_message())


class WrongUse(Failure):
    """An error in the command line, printed in one line; exit code 2."""

    exit_code = WRONG_USE


class Commands(click.Group):
    """A group that suggests a command name if the given one does not exist."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name, the command and the arguments of a command line."""
        name, known = args[0], self.list_commands(ctx)
        if name in known or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        close = get_close_matches(name, known, 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise click.UsageError(f"No such command {name!r}.{hint}", ctx)


class Program(Commands):
    """The outermost group, which prints errors in the command line in one line."""

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Parse the options before the command name."""
        with _usage_errors_in_one_line():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Parse the rest, and run the command."""
        with _usage_errors_in_one_line():
            return super().invoke(ctx)


@contextmanager
def _usage_errors_in_one_line() -> Iterator[None]:
    """Convert errors in the command line to `WrongUse`, except those that print the help.

    Raises
    ------
    WrongUse
        If the block raises `click.UsageError`.
    """
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        message = error.format_message().removesuffix(".")
        if error.ctx is not None and not message.endswith("?"):
            message += f"; see {error.ctx.command_path} --help"
        raise WrongUse(message) from error


def example(*commands: str) -> str:
    """Return the end of a help text with example command lines."""
    title = "Example:" if len(commands) == 1 else "Examples:"
    return "\n".join(["\b", title, *(f"  {command}" for command in commands)])


class Summarised(click.Command):
    """A command whose entry in a list of commands is the first paragraph of its help."""

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return this paragraph at full length."""
        return " ".join(inspect.cleandoc(self.help or "").partition("\n\n")[0].split())


class Command(Summarised):
    """A command whose expected errors and interruptions print no traceback.

    Parameters
    ----------
    by_several : bool
        Whether the command supports several MPI processes. Other commands print a warning if a
        launcher started several, because each process does all the work.
    """

    def __init__(self, *args: Any, by_several: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        self.by_several = by_several

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        if not self.by_several and rank_from_environment() == 0 and launcher_started_many():
            notify(
                "warning",
                f"{ctx.command_path} runs in one process; here each process does all the work",
            )
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except (OptionError, MissingFileError) as error:
            raise WrongUse(str(error)) from error
        except JetpyError as error:
            raise Failure(str(error)) from error
        except MemoryError as error:
            raise Failure(f"not enough memory: {error}") from error
        except BrokenPipeError:
            raise  # the reader closed the pipe: click exits silently
        except OSError as error:
            _forget_output()
            raise Failure(str(error)) from error
        except KeyboardInterrupt:
            click.echo("jetpy: interrupted", err=True)
            ctx.exit(INTERRUPTED)


def options_given(ctx: click.Context) -> dict[str, str]:
    """Return the options on the command line: the first name of each, by parameter."""
    return {
        str(param.name): param.opts[0]
        for param in ctx.command.params
        if ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
    }


class PageCommand(Command):
    """A command that writes a page with its command line, ``ctx.meta[COMMAND_LINE]``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Store the command line."""
        ctx.meta[COMMAND_LINE] = shlex.join([*ctx.command_path.split(), *args])
        return super().parse_args(ctx, args)


def code_of(error: Exception) -> int:
    """Return the exit code of an error.

    >>> code_of(OptionError("k is 0")), code_of(JetpyError("not readable"))
    (2, 1)
    """
    if isinstance(error, click.ClickException):
        return error.exit_code
    return WRONG_USE if isinstance(error, OptionError | MissingFileError) else WRONG


def _forget_output() -> None:
    """Discard unwritten output; otherwise Python would fail again when it flushes at exit."""
    with suppress(OSError, ValueError):  # standard output may have no file descriptor
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def notify(kind: str, message: str) -> None:
    """Print an error or a warning to standard error."""
    click.echo(f"jetpy: {kind}: {message}", err=True)
