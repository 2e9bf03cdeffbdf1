"""``--set`` and ``--show-options``: single options of a preset, and all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from jetpy.cli.command import Command
from jetpy.errors import OptionError

if TYPE_CHECKING:
    from jetpy.problem.options import Options

OF_OPTIONS = ("preset", "coarsening", "refinement", "method", "settings")
"""Parameters that determine the options of a run."""


def _read(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of ``--set`` by name."""
    if not texts:
        return {}
    from jetpy.problem.checked import read_value
    from jetpy.problem.options import Options

    settings = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator:
            raise click.BadParameter(f"{text!r} has no '='; write NAME=VALUE", ctx, param)
        try:
            settings[name] = read_value(Options, name, value)
        except OptionError as error:
            raise click.BadParameter(str(error), ctx, param) from error
    return settings


set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_read,
    help="Change one option, as in refine.patience=20; may be given several times. --show-options "
    "lists the names.",
)

show_options_option = click.option(
    "--show-options",
    is_flag=True,
    expose_value=False,
    help="Print all options of the run in the form of --set, and exit.",
)


class CommandWithOptions(Command):
    """A command with ``--show-options``, which needs no other argument.

    Parameters
    ----------
    options : callable
        Called with the parameters in `OF_OPTIONS` that the command has; returns the options.
    """

    def __init__(self, *args: Any, options: Callable[..., Options], **rest: Any) -> None:
        super().__init__(*args, **rest)
        self._options = options

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line, or print the options."""
        if "--show-options" not in args or ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        from jetpy.problem.checked import value_text

        own = click.Command(
            self.name,
            {"ignore_unknown_options": True, "allow_extra_args": True},
            params=[param for param in self.params if param.name in OF_OPTIONS],
        )
        chosen = own.make_context(ctx.info_name, list(args), ctx.parent).params
        try:
            options = self._options(**chosen)
        except OptionError as error:
            raise click.UsageError(str(error), ctx) from error
        for name, value in options.values().items():
            click.echo(f"{name}={value_text(value)}")
        ctx.exit()
