"""How commands end: every expected error becomes one line and an exit code."""

from __future__ import annotations

from typing import Any

import click

from jetpy.errors import JetpyError, OptionError

INFEASIBLE = 3
INTERRUPTED = 130


class Failure(click.ClickException):
    """An error that is not about the command line; exit code 1."""

    def show(self, file: Any = None) -> None:
        """Print the message to standard error."""
        notify("error", self.format_message())


class Command(click.Command):
    """A command whose expected errors and interruptions leave no traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except OptionError as error:
            raise click.UsageError(str(error), ctx) from error
        except JetpyError as error:
            raise Failure(str(error)) from error
        except MemoryError as error:
            raise Failure(f"not enough memory: {error}") from error
        except BrokenPipeError:
            raise  # nobody reads the output: click ends the program quietly
        except OSError as error:
            raise Failure(str(error)) from error
        except KeyboardInterrupt:
            click.echo("jetpy: interrupted", err=True)
            ctx.exit(INTERRUPTED)


def notify(kind: str, message: str) -> None:
    """Print an error or a warning to standard error."""
    click.echo(f"jetpy: {kind}: {message}", err=True)
