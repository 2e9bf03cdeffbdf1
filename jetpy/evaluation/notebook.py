"""Rows and tables as HTML for notebooks, without own colours or JavaScript."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_LEFT, _RIGHT = ' style="text-align: left"', ' style="text-align: right"'


def facts_html(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """Return a table of names and values."""
    body = _body(
        f"{_cells('th', [name], _LEFT)}{_cells('td', [value], _LEFT)}" for name, value in rows
    )
    return f"<table><caption{_LEFT}><b>{escape(title)}</b></caption>{body}</table>"


def collapsed_html(title: str, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of numbers that is collapsed under its title."""
    head = f"<thead><tr>{_cells('th', headers, _RIGHT)}</tr></thead>"
    body = _body(_cells("td", row, _RIGHT) for row in rows)
    return f"<details><summary>{escape(title)}</summary><table>{head}{body}</table></details>"


def _body(rows: Iterable[str]) -> str:
    return f"<tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody>"


def _cells(tag: str, texts: Iterable[str], style: str) -> str:
    return "".join(f"<{tag}{style}>{escape(text)}</{tag}>" for text in texts)
