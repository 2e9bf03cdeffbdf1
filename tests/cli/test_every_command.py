"""Properties of all commands: help, options, completion, colours."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from jetpy.cli.generate import EXAMPLES
from jetpy.cli.main import main
from jetpy.graph.generators import GENERATORS
from jetpy.io import read_parts, write_graph
from tests.children import output_on_terminal
from tests.cli.conftest import ENGINE, Run
from tests.graphs import heavy_vertex

PROGRAM = [sys.executable, "-m", "jetpy"]
WIDTH = 80


def commands(
    command: click.Command = main, *names: str
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield all commands with the words that call them."""
    yield names, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, *names, name)


ALL = {" ".join(names): command for names, command in commands()}
LEAVES = {name: command for name, command in ALL.items() if not isinstance(command, click.Group)}


def test_subcommands_are_included() -> None:
    assert {"partition", "generate rmat", "doctor"} <= LEAVES.keys()
    assert EXAMPLES.keys() == GENERATORS.keys()


@pytest.mark.parametrize("name", ALL)
def test_help_fits_into_80_columns(name: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", f"{WIDTH}")
    words = run(*name.split(), "--help").stdout
    assert max(map(len, words.splitlines())) <= WIDTH
    assert not re.search(r"\w\.\.\.$", words, re.MULTILINE), "a line is cut off"


@pytest.mark.parametrize("name", ALL)
def test_examples_of_the_help_can_be_parsed(name: str, run: Run, folder: Path) -> None:
    for file in (
        "mesh.npz",
        "changes.txt",
        "mesh.pe",
        "in.vtu",
        "laptop",
        "gpu",
        "matrix.mtx",
        "changed.mtx",
        "order.npz",
        "perm.txt",
    ):
        (folder / file).touch()
    _, _, words = run(*name.split(), "--help").stdout.partition("\n  Example")
    lines = [line for line in words.splitlines() if line.startswith("    jetpy ")]
    assert lines
    assert any(line.startswith(f"    jetpy {name}") for line in lines)
    for line in lines:
        _, *arguments = shlex.split(line)
        context = main.make_context("jetpy", arguments.copy())
        command: click.Command = main
        while isinstance(command, click.Group):
            _, found, arguments = command.resolve_command(context, arguments)
            assert found is not None
            command = found
        if "--help" not in arguments:
            command.make_context(line, arguments, parent=context)


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_has_json_and_quiet(name: str) -> None:
    options = {option for p in LEAVES[name].params for option in p.opts}
    assert {"--json", "--quiet"} <= options
    shared = {  # names that these options have in every command
        "output": ["-o", "--output"],
        "k": ["-k"],
        "jobs": ["-j", "--jobs"],
    }
    for parameter in LEAVES[name].params:
        assert parameter.opts == shared.get(str(parameter.name), parameter.opts)


RUNS = {
    "generate grid 4 5 -o made.graph": {"file": "made.graph", "n": 20, "m": 31},
    "evaluate mesh.graph mesh.part": {"cut": 90},
    f"order mesh.graph --leaf-size 1200 {' '.join(ENGINE)}": {"n": 1200, "separators": 0},
    "compile --backend cpu": {"backend": "cpu", "failed": 0, "left": 0},
    f"partition mesh.graph -k 2 {' '.join(ENGINE)}": {"feasible": True},
    f"partition mesh.graph -k 2 -o parts {' '.join(ENGINE)}": {"feasible": True},
    f"map mesh.graph --hierarchy 1:2 --distance 1:2 {' '.join(ENGINE)}": {"feasible": True},
    f"map mesh.graph --hierarchy 1:2 --distance 1:2 -o pe {' '.join(ENGINE)}": {"feasible": True},
}


@pytest.mark.parametrize("line", RUNS)
def test_json_goes_to_standard_output_or_a_file(line: str, run: Run, folder: Path) -> None:
    """Only `--quiet` and JSON on standard output suppress the summary; no other file is written."""
    before = {*folder.iterdir()}
    printed = json.loads(run(*line.split(), "--json", "-").stdout)
    assert printed | RUNS[line] == printed
    assert run(*line.split(), "--quiet", "--json", "report.json").output == ""
    silent = json.loads(Path("report.json").read_text())
    assert silent.keys() == printed.keys()
    assert run(*line.split(), "--json", "report.json").stdout != ""
    outputs = re.findall(r"-o (\S+)", line)
    assert {*folder.iterdir()} - before == {folder / name for name in ("report.json", *outputs)}


HALF = "half.graph"
HEAVY = "heavy.graph"
REPAIRED = (f"partition {HALF} -k 2", f"map {HALF} --hierarchy 2 --distance 1")
INFEASIBLE = {
    f"partition {HEAVY} -k 2 -o out": "partition was found: the heaviest part",
    f"map {HEAVY} --hierarchy 2 --distance 1 -o out": "mapping was found: the heaviest PE",
}


@pytest.mark.parametrize("line", REPAIRED)
def test_repair_adds_missing_edges(line: str, run: Run) -> None:
    Path(HALF).write_text("3 2\n2\n1 3\n\n")
    result = run(*line.split(), *ENGINE, code=1)
    assert result.stderr.startswith(f"jetpy: error: {HALF}: ")
    run(*line.split(), "--repair", *ENGINE)


@pytest.mark.parametrize("line", INFEASIBLE)
def test_infeasible_result_is_written_with_a_warning(line: str, run: Run) -> None:
    write_graph(HEAVY, heavy_vertex())
    result = run(*line.split(), "--quiet", *ENGINE, code=3)
    assert result.stdout == ""
    assert result.stderr.startswith(f"jetpy: warning: no balanced {INFEASIBLE[line]}")
    assert result.stderr.endswith("more than the limit of 523\n")
    assert len(read_parts("out")) == 6


def test_demo_writes_json(run: Run) -> None:
    printed = json.loads(run("demo", *ENGINE, "--json", "-").stdout)
    assert printed["jetpy"]["k"] == printed["METIS"]["k"] == 8
    assert 0 < printed["jetpy"]["cut"] < 1.1 * printed["METIS"]["cut"]
    assert run("demo", *ENGINE, "--quiet").output == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("jetpy par", ["partition"]),
        ("jetpy partition --preset ultr", ["ultra"]),
        ("jetpy generate d", ["delaunay"]),
        ("jetpy evaluate --cut", ["--cut-matrix"]),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_shells(words: str, expected: list[str], shell: str) -> None:
    *before, last = words.split()
    environment = {
        "_JETPY_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": last if shell == "fish" else f"{len(before)}",
    }
    done = subprocess.run(
        PROGRAM, capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    assert [word for word in expected if word not in done.stdout] == []
    assert done.stderr == ""


@pytest.mark.parametrize("chosen", [{}, {"NO_COLOR": "1"}], ids=["colour", "NO_COLOR"])
def test_colours_follow_the_environment(chosen: dict[str, str], folder: Path) -> None:
    unset = {"NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM"}
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"TERM": "xterm", **chosen}
    command = [*PROGRAM, "evaluate", "mesh.graph", "mesh.part"]
    shown = output_on_terminal(command, output=True, env=environment)
    assert "Evaluating" in shown
    assert "boundary vertices" in shown
    assert bool(re.search(r"\x1b\[[\d;]*[349]\dm", shown)) is (not chosen)
