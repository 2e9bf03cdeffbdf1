"""Tables on standard output: rich ones, or Markdown for a note."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jetpy.cli.tables import columns, stdout_console


def show(
    title: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: int = 1,
    markdown: bool = False,
) -> None:
    """Print a table, the first `left` columns of which hold text and the others numbers."""
    if not markdown:
        console = stdout_console()
        console.print(f"\n{title}", style="bold")
        console.print(columns(headers, rows, left))
        return
    rule = ["---" if i < left else "---:" for i in range(len(headers))]
    print(f"\n**{title}**\n")
    for row in (headers, rule, *rows):
        print(f"| {' | '.join(row)} |")


def note(text: str) -> None:
    """Print a line about the progress on standard error."""
    print(text, file=sys.stderr, flush=True)
