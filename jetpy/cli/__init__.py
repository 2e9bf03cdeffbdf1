"""The command line: one module per command; whatever takes long to import is imported late."""

from __future__ import annotations

import click

from jetpy.cli.compile import compile_command
from jetpy.cli.demo import demo_command
from jetpy.cli.doctor import doctor_command
from jetpy.cli.evaluate import evaluate_command
from jetpy.cli.generate import generate_group
from jetpy.cli.map import map_command
from jetpy.cli.partition import partition_command
from jetpy.cli.update import update_command

__all__ = ["main"]


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 all is well; 1 an error, told on standard error; 2 the command line is "
    "wrong; 3 the result was written but no balanced one was found; 130 interrupted.",
)
@click.version_option(package_name="jetpy", message="%(prog)s %(version)s")
def main() -> None:
    """Partition graphs into balanced parts with few cut edges, on CPUs and NVIDIA GPUs."""


for _command in (
    partition_command,
    update_command,
    map_command,
    evaluate_command,
    generate_group,
    compile_command,
    doctor_command,
    demo_command,
):
    main.add_command(_command)
