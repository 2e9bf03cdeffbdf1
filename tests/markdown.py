"""Code blocks in Markdown pages.

A block that cannot run here has a comment above it: ``<!-- not run: the reason -->``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"(?:^<!-- not run: (\w.*) -->\n)?^```([^`\n]*)\n((?s:.*?))^```$", re.M)


@dataclass(frozen=True)
class Block:
    """Code of a block, preceded by empty lines so that its line numbers equal those of the page."""

    page: Path
    section: str
    language: str
    code: str
    skipped: str


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page."""
    text = page.read_text("utf-8")
    for found in BLOCK.finditer(text):
        above = text[: found.start(3)]
        titles = re.findall(r"^## (.*)$", above, re.M)
        code = "\n" * above.count("\n") + found[3]
        yield Block(page, titles[-1] if titles else "", found[2], code, found[1] or "")


def commands(code: str) -> list[tuple[str, str]]:
    """Return the commands of a block and the output shown below each.

    A command begins with ``$`` and continues in lines that begin with ``>`` and after backslashes.
    """
    found: list[tuple[str, str]] = []
    for line in code.strip().splitlines():
        command, shown = found[-1] if found else ("", "")
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif line.startswith("> ") and not shown:
            found[-1] = (f"{command}\n{line[2:]}", "")
        elif command.endswith("\\") and not shown:
            found[-1] = (f"{command}\n{line}", "")
        else:
            found[-1] = (command, f"{shown}{line}\n")
    return found


def packages(code: str) -> Iterator[str]:
    """Yield the names of the packages that a program requires."""
    for node in ast.parse(code).body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]
