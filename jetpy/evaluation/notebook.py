"""Results as small HTML tables for notebooks, without own colours or JavaScript."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from jetpy.evaluation.rows import (
    MAX_PARTS,
    PART_HEADERS,
    evaluation_rows,
    mapping_rows,
    part_rows,
    partition_rows,
    seconds_row,
)

if TYPE_CHECKING:
    from jetpy.evaluation.evaluate import Evaluation
    from jetpy.result.mapping import Mapping
    from jetpy.result.partition import Partition

_LEFT, _RIGHT = ' style="text-align: left"', ' style="text-align: right"'


def partition_html(partition: Partition) -> str:
    """Return a table of a partitioning run."""
    return _facts("Partition", [*partition_rows(partition), seconds_row(partition)])


def mapping_html(mapping: Mapping) -> str:
    """Return a table of a mapping run."""
    return _facts("Mapping", [*mapping_rows(mapping), seconds_row(mapping.partition)])


def evaluation_html(result: Evaluation) -> str:
    """Return a table of metrics, with a collapsed table of parts if there are few."""
    rows = [("k", f"{result.k:,}"), ("cut", f"{result.cut:,}"), *evaluation_rows(result)]
    facts = _facts("Evaluation", rows)
    if result.k > MAX_PARTS:
        return facts
    head = f"<thead><tr>{_cells('th', PART_HEADERS, _RIGHT)}</tr></thead>"
    body = _body(_cells("td", row, _RIGHT) for row in part_rows(result))
    return f"{facts}<details><summary>parts</summary><table>{head}{body}</table></details>"


def _facts(title: str, rows: Sequence[tuple[str, str]]) -> str:
    body = _body(
        f"{_cells('th', [name], _LEFT)}{_cells('td', [value], _LEFT)}" for name, value in rows
    )
    return f"<table><caption{_LEFT}><b>{escape(title)}</b></caption>{body}</table>"


def _body(rows: Iterable[str]) -> str:
    return f"<tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody>"


def _cells(tag: str, texts: Iterable[str], style: str) -> str:
    return "".join(f"<{tag}{style}>{escape(text)}</{tag}>" for text in texts)
