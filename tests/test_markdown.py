"""Code in the README and in the documentation runs and prints the output shown there.

The blocks of a page run in order, in one folder. A command without output below it may print
anything. In outputs, ``...`` matches anything; decimal numbers (mostly times) except the imbalance,
numbers of threads and file sizes may differ. For Python, the comment after a `print` is compared,
up to a comma or colon. `tests/test_recipes.py` tests the recipes.
"""

from __future__ import annotations

import ast
import io
import logging
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from jetpy.cli.main import main
from tests.markdown import Block, blocks, commands

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("[!_]*.md"))]
PAGES += sorted((ROOT / "docs").glob("[!_]*/**/*.md"))
ANYTHING, DECIMAL, THREADS, SIZE = r"(?s:.*)", r"[\d.,]+", r"\d+ threads?", r"\d+ kB"


def runs(page: Path) -> list[Block]:
    return [b for b in blocks(page) if b.language in ("python", "console") and not b.skipped]


def with_code() -> list[str]:
    pages = [page for page in PAGES if not page.name.startswith("recipes") and runs(page)]
    return [str(page.relative_to(ROOT)) for page in pages]


@pytest.fixture
def _logging_kept() -> Iterator[None]:
    """Restore the log level of jetpy after a page."""
    logger = logging.getLogger("jetpy")
    before = logger.level
    yield
    logger.setLevel(before)


@pytest.mark.usefixtures("_logging_kept")
@pytest.mark.parametrize("page", with_code())
def test_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in runs(ROOT / page):
        if block.language == "python":
            run_python(block, names)
        else:
            for command, shown in commands(block.code):
                printed = run_command(command)
                assert not shown or matches(shown, printed), f"{command}\n{printed}"


def run_python(block: Block, names: dict[str, Any]) -> None:
    lines = block.code.splitlines()
    for statement in ast.parse(block.code).body:
        printed = io.StringIO()
        code = compile(ast.Module([statement], []), block.page, "exec")
        with redirect_stdout(printed):
            exec(code, names)
        assert statement.end_lineno is not None
        _, has_comment, comment = lines[statement.end_lineno - 1].partition("  # ")
        if has_comment and printed.getvalue():
            found = squeezed(printed.getvalue())
            assert re.match(re.escape(found) + r"($|[,:;])", squeezed(comment)), (
                f"{comment} is {found}"
            )


def run_command(command: str) -> str:
    """Run a command of jetpy in this process, which has the kernels, other commands in a shell."""
    if command.startswith("jetpy ") and not set(command) & set("|<>;&$"):
        result = CliRunner().invoke(main, shlex.split(command, comments=True)[1:])
        assert result.exit_code == 0, f"{command}\n{result.output}"
        return result.output
    shell = ["bash", "-ec", command]
    return subprocess.run(shell, check=True, stdout=subprocess.PIPE, text=True).stdout


def matches(shown: str, printed: str) -> bool:
    pattern = re.escape(squeezed(shown))
    pattern = re.sub(r"(?<!imbalance\\ )\d+(,\d+)*\\\.\d+", lambda _: DECIMAL, pattern)
    pattern = re.sub(r"\d+\\ threads?", lambda _: THREADS, pattern)
    pattern = re.sub(r"\d+\\ kB", lambda _: SIZE, pattern)
    pattern = pattern.replace(r"\.\.\.", ANYTHING)
    return re.fullmatch(pattern, squeezed(printed)) is not None


def squeezed(text: str) -> str:
    """Return a text with single blanks and rules of one character."""
    return re.sub("─+", "─", " ".join(text.split()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_marks_are_directly_above_blocks(page: Path) -> None:
    marks = [block for block in blocks(page) if block.skipped]
    assert page.read_text("utf-8").count("<!-- not run") == len(marks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_fits_the_site(page: Path) -> None:
    """docs/_static/site.css makes room for lines of 88 characters in a window of 1280 pixels."""
    code = [block.code for block in blocks(page) if block.language != "{glossary}"]
    assert [line for text in code for line in text.split("\n") if len(line) > 88] == []


@pytest.mark.parametrize(
    ("shown", "printed", "alike"),
    [
        ("cut  1,234", "cut 1,234", True),
        ("cut  1,234", "cut 1,235", False),
        ("a 0.5 s, 2 threads", "a   12.25 s, 16 threads", True),
        ("imbalance  0.0277", "imbalance 0.0270", False),
        ("a\n...\nd", "a b\nc\nd", True),
        ("a\n...\nd", "a b\nc\ne", False),
        (" a\n ───\n", " a\n ─────\n", True),
    ],
)
def test_matches_ignores_blanks_and_variable_numbers(shown: str, printed: str, alike: bool) -> None:
    assert matches(shown, printed) is alike


def test_commands_of_a_block_are_split() -> None:
    code = "$ a \\\n  b\nout\n\n$ cat > c <<END\n> d\n> END\n$ e\n"
    assert commands(code) == [("a \\\n  b", "out\n\n"), ("cat > c <<END\nd\nEND", ""), ("e", "")]
