"""Tables on standard output, as plain text or Markdown, and progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import geometric_mean
from typing import TypeVar

from jetpy.cli.tables import columns, stdout_console

T = TypeVar("T")


def show(
    title: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: int = 1,
    markdown: bool = False,
) -> None:
    """Print a table. The first `left` columns contain text, the other columns numbers."""
    if not markdown:
        console = stdout_console()
        console.print(f"\n{title}", style="bold")
        console.print(columns(headers, rows, left))
        return
    print(f"\n**{title}**\n\n{markdown_table(headers, rows, left)}")


def markdown_table(headers: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a Markdown table. The first `left` columns contain text, the other columns numbers."""
    rule = ["---" if i < left else "---:" for i in range(len(headers))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (headers, rule, *rows))


def ratio_text(ratio: float | None, digits: int = 3) -> str:
    """Format a ratio; None becomes a dash."""
    return "-" if ratio is None else f"{ratio:.{digits}f}"


def mean_text(ratios: Iterable[float | None], digits: int = 3) -> str:
    """Format the geometric mean of the ratios that are not None; without any, return a dash."""
    known = [ratio for ratio in ratios if ratio is not None]
    return ratio_text(geometric_mean(known) if known else None, digits)


def extreme_text(
    values: Mapping[T, float],
    name: Callable[[T], str] = str,
    choose: Callable[..., T | None] = max,
) -> str:
    """Format the value that `choose`, min or max, selects, and its case; without any, a dash."""
    case = choose(sorted(values), key=values.__getitem__, default=None)  # type: ignore[type-var]
    return "-" if case is None else f"{values[case]:.3f} {name(case)}"


def note(text: str) -> None:
    """Print a line about the progress on standard error."""
    print(text, file=sys.stderr, flush=True)
