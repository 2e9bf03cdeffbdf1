"""Output of commands as rich tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from jetpy.evaluation.levels import LEVEL_HEADERS, level_rows
from jetpy.evaluation.rows import seconds_row
from jetpy.result.mapping import Mapping, mapping_rows
from jetpy.result.partition import Partition, partition_rows

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from jetpy.distributed import DistributedPartition
    from jetpy.incremental.partitioner import IncrementalPartitioner, Update
    from jetpy.profiling.profile import Profile


MAX_KERNELS = 12
"""Maximum number of kernels in the table of a profile."""
MAX_UPDATES = 20
"""Maximum number of batches in a table, which lists the last ones."""


def stdout_console() -> Console:
    """Return a console without markup; 120 columns wide if the output is not a terminal."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = 120
    return console


def facts(rows: Sequence[tuple[str, str]]) -> Text:
    """Return names and values, one pair per line."""
    from rich.text import Text

    width = max(len(name) for name, _ in rows) + 2
    lines = (Text.assemble((f"{name:<{width}}", "cyan"), value) for name, value in rows)
    return Text("\n", overflow="fold").join(lines)


def columns(headers: Sequence[str], rows: Iterable[Sequence[str]], left: int = 0) -> Table:
    """Return a table; the first `left` columns are text, the others right-aligned numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for i, header in enumerate(headers):
        table.add_column(header, justify="left" if i < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def summary(partition: Partition, read_seconds: float) -> Text:
    """Return the summary of a run."""
    return facts(
        [
            *partition_rows(partition),
            ("empty parts", f"{partition.empty_parts:,}"),
            ("disconnected parts", pieces_text(partition.pieces)),
            ("isolated vertices", f"{partition.isolated_vertices:,}"),
            *times(partition, read_seconds),
        ]
    )


def pieces_text(pieces: npt.NDArray[np.int64]) -> str:
    """Return the number of disconnected parts, and of their components (int64, shape (k,)).

    >>> import numpy as np
    >>> pieces_text(np.array([1, 3, 2, 0]))
    '2, in 5 components'
    """
    several = pieces[pieces > 1]
    return f"{len(several):,}, in {several.sum():,} components" if len(several) else "0"


def mapping_summary(mapping: Mapping, read_seconds: float) -> Text:
    """Return the summary of a mapping run."""
    return facts([*mapping_rows(mapping), *times(mapping.partition, read_seconds)])


def update_summary(live: IncrementalPartitioner, updates: Sequence[Update]) -> Text:
    """Return the summary of a session after batches of modifiers."""
    heaviest = int(live.part_weights.max())
    renewed = sum(update.action != "placed" for update in updates)
    seconds = sum(update.seconds for update in updates)
    return facts(
        [
            ("graph", f"{live.n:,} vertices, {live.m:,} edges"),
            ("batches", f"{len(updates):,}; {renewed:,} led to a new partition"),
            ("cut", f"{live.cut:,}"),
            ("limit", f"{live.limit:,}; the heaviest part weighs {heaviest:,}"),
            ("feasible", "yes" if live.feasible else "NO"),
            ("moved", f"{sum(update.moved for update in updates):,} vertices"),
            ("seconds", f"{seconds:.4f}"),
        ]
    )


def updates_table(updates: Sequence[Update]) -> Table:
    """Return a table of the results of batches of modifiers."""
    first = max(0, len(updates) - MAX_UPDATES)
    rows = (
        (
            f"{number:,}",
            f"{update.action}: {update.reason}" if update.reason else update.action,
            f"{update.cut:,}",
            f"{update.moved:,}",
            f"{1000 * update.seconds:,.2f}",
        )
        for number, update in enumerate(updates[first:], first + 1)
    )
    return columns(("batch", "action", "cut", "moved", "ms"), rows, left=2)


def times(
    partition: Partition | DistributedPartition, read_seconds: float
) -> list[tuple[str, str]]:
    """Return rows with the time of a run, and of reading and compiling."""
    kernels = "compile" if partition.compiled else "load kernels"
    return [
        seconds_row(partition.seconds),
        ("setup", f"read {read_seconds:.2f}, {kernels} {partition.seconds['compile']:.2f}"),
    ]


def levels(partition: Partition) -> Table:
    """Return a table of the levels, coarsest first."""
    return columns(LEVEL_HEADERS, level_rows(reversed(partition.levels)))


def steps(profile: Profile) -> Table:
    """Return a table of a profile's work by stage and level."""
    from jetpy.profiling.profile import STEP_HEADERS, step_row, total_of

    table = columns(STEP_HEADERS, map(step_row, profile.steps), left=1)
    table.show_footer = True
    for column, total in zip(table.columns, step_row(total_of(profile.steps)), strict=True):
        column.footer = total
    return table


def kernels(profile: Profile) -> Table:
    """Return a table of the kernels with the longest total time."""
    from jetpy.profiling.profile import KERNEL_HEADERS, kernel_rows

    return columns(KERNEL_HEADERS, kernel_rows(profile)[:MAX_KERNELS], left=2)
