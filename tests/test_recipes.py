"""The recipes run, block after block of each section, as far as their packages are installed."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

RECIPES = Path(__file__).parents[1] / "docs" / "recipes.md"


def sections() -> dict[str, list[str]]:
    """Blocks of Python by section; each with as many lines above it as in the file."""
    found: dict[str, list[str]] = defaultdict(list)
    title, block = "", ""
    for number, line in enumerate(RECIPES.read_text("utf-8").splitlines()):
        if line == "```python":
            block = "\n" * (number + 1)
        elif line == "```" and block:
            found[title].append(block)
            block = ""
        elif block:
            block += line + "\n"
        elif line.startswith("## "):
            title = line.removeprefix("## ")
            found[title] = []
    return found


def packages(code: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            yield node.module


@pytest.mark.parametrize("title", sections())
def test_recipe(
    title: str, compiled: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    assert sections()[title]
    for block in sections()[title]:
        for package in packages(block):
            pytest.importorskip(package)
        exec(compile(block, RECIPES, "exec"), names)
