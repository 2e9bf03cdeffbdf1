"""The public names of `import jetpy`, and its lazy imports."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from glob import glob
from graphlib import TopologicalSorter
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import jetpy
from jetpy import choices
from jetpy.coarsening.methods import COARSENINGS
from jetpy.device.backends import BACKENDS
from jetpy.problem.options import CoarsenOptions, RefineOptions
from jetpy.problem.presets import MAPPING_METHODS, PRESETS
from jetpy.refinement.methods import REFINEMENTS

HEAVY = ("llvmlite", "scipy", "pymetis", "click", "rich", "numpy")
UNUSED = (
    *("scipy.optimize", "scipy.sparse.csgraph", "scipy.spatial", "pymetis", "matplotlib"),
    *("networkx", "cupy", "jetpy.engines.cuda.engine", "jetpy.engines.kokkos.engine"),
    *("jetpy.distributed", "jetpy.incremental", "jetpy.mapping", "jetpy.meshes", "jetpy.pages"),
    *(
        "jetpy.constraints.connected.driver",
        "jetpy.constraints.objective",
        "jetpy.problem.multiconstraint",
    ),
    *(
        "jetpy.problem.targets",
        "jetpy.constraints.terminals",
        "jetpy.constraints.multiconstraint",
        "jetpy.constraints.volume",
    ),
    *(
        "jetpy.profiling.profile",
        "jetpy.io.compression",
        "jetpy.graph.convert.tables",
        "jetpy.device.checked_rows",
    ),
)
"""Modules that a minimal run does not need."""
NEEDED_BY_COMMANDS = {"jetpy.io.compression", "scipy.sparse.csgraph"}
"""Modules among them that read files and count the connected components of parts."""


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    ("what", "loaded"),
    [
        ("import jetpy", []),
        ("import jetpy; jetpy.Graph", ["numpy"]),
    ],
)
def test_slow_imports_are_lazy(what: str, loaded: list[str]) -> None:
    code = f"{what}\nimport sys\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    assert run("-c", code).splitlines()[-1].split() == loaded


PLAIN_RUN = """
import numpy as np, jetpy
n = 100
indptr, ring = np.arange(0, 2 * n + 1, 2), np.arange(n)
indices = np.stack([(ring - 1) % n, (ring + 1) % n], 1).ravel()
assert jetpy.partition((indptr, indices), 4, threads=1).cut == 4
"""


def loaded_by(code: str, names: Iterable[str]) -> set[str]:
    """Return which of some modules a process has imported after running some code."""
    *_, last = run("-c", f"{code}\nimport sys\nprint(*sys.modules)").splitlines()
    return set(names) & set(last.split())


def test_minimal_run_imports_only_what_it_needs() -> None:
    names = [*UNUSED, "rich", "click", "jetpy.initial.coarsest"]
    assert loaded_by(PLAIN_RUN, names) == {"jetpy.initial.coarsest"}


def test_unused_modules_exist() -> None:
    """Each name in `UNUSED` is a module."""
    assert loaded_by("\n".join(f"import {name}" for name in UNUSED if name != "cupy"), UNUSED) == {
        name for name in UNUSED if name != "cupy"
    }


def test_minimal_command_imports_only_what_it_needs(tmp_path: Path) -> None:
    jetpy.write_graph(tmp_path / "grid.graph", jetpy.generators.grid(10, 10))
    given = ["partition", str(tmp_path / "grid.graph"), "-k", "2", "--threads", "1"]
    code = f"from jetpy.cli.main import main\nmain({given}, standalone_mode=False)"
    assert loaded_by(code, UNUSED) == NEEDED_BY_COMMANDS


@pytest.mark.parametrize("given", ["--version", "--help", "partition --help"])
def test_help_needs_neither_numpy_nor_rich(given: str) -> None:
    code = f"from jetpy.cli.main import main\nmain({given.split()}, standalone_mode=False)"
    assert loaded_by(code, [*HEAVY, "jetpy.device.backends"]) == {"click"}


def test_package_runs_as_a_program() -> None:
    assert run("-m", "jetpy", "--version") == f"jetpy {jetpy.__version__}\n"
    assert run("-m", "jetpy", "--help").startswith("Usage: jetpy [OPTIONS] COMMAND")


def test_all_public_names_exist() -> None:
    assert set(jetpy.__all__) <= set(dir(jetpy))
    for name in jetpy.__all__:
        assert getattr(jetpy, name) is not None
    assert (
        run("-c", "from jetpy import *; print(partition.__module__)") == "jetpy.api.partitioning\n"
    )
    with pytest.raises(AttributeError, match="module 'jetpy' has no attribute 'nothing'"):
        jetpy.nothing  # noqa: B018


def test_type_checkers_see_the_public_names() -> None:
    [block] = [n for n in ast.parse(inspect.getsource(jetpy)).body if isinstance(n, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.name: node.module for node in imports for alias in node.names}
    homes = {name: f"jetpy.{home}" for home, offered in jetpy._HOMES.items() for name in offered}
    assert seen == {**homes, "generators": "jetpy.graph"}
    assert sorted([*seen, "__version__"]) == sorted(jetpy.__all__)


def test_no_module_has_the_name_of_a_public_function() -> None:
    """Importing the module would replace the function."""
    modules = {path.stem for path in Path(jetpy.__file__).parent.iterdir()}
    assert modules.isdisjoint(jetpy.__all__)


def test_choices_equal_the_tables() -> None:
    for kind, table in (
        (choices.Preset, PRESETS),
        (choices.Coarsening, COARSENINGS),
        (choices.Refinement, REFINEMENTS),
        (choices.Method, MAPPING_METHODS),
        (choices.Backend, ["auto", *BACKENDS]),
    ):
        assert list(get_args(kind)) == list(table)


@pytest.mark.parametrize(
    ("option", "kind", "options"),
    [
        ("coarsening", choices.Coarsening, CoarsenOptions),
        ("refinement", choices.Refinement, RefineOptions),
    ],
)
def test_docstrings_and_the_guide_list_all_methods(
    option: str, kind: object, options: type
) -> None:
    names = get_args(kind)
    listed = "{" + ", ".join(map(repr, names)) + "}"
    assert f"\n{option} : {listed}, optional\n" in str(inspect.getdoc(jetpy.partition))
    assert f"\nmethod : {listed}\n" in str(inspect.getdoc(options))
    guide = Path(__file__).parents[1] / "docs" / "guide" / "command-line.md"
    [row] = [s for s in guide.read_text("utf-8").splitlines() if s.startswith(f"| `--{option} ")]
    assert re.findall("`([a-z-]+)`", row) == list(names)


@pytest.mark.parametrize(
    "function",
    [
        jetpy.partition,
        jetpy.partition_many,
        jetpy.refine,
        jetpy.map_processes,
        jetpy.IncrementalPartitioner.__init__,
    ],
)
def test_choices_are_annotated(function: object) -> None:
    kinds = {
        "preset": choices.Preset,
        "coarsening": choices.Coarsening | None,
        "refinement": choices.Refinement | None,
        "method": choices.Method,
        "backend": choices.Backend,
    }
    hints = get_type_hints(function)
    assert {name: hints[name] for name in kinds if name in hints} == {
        name: kind for name, kind in kinds.items() if name in hints
    }


def test_submodules_are_attributes_without_import() -> None:
    code = "import jetpy; print(jetpy.errors.OptionError.__name__, jetpy.io.read_graph.__name__)"
    assert run("-c", code) == "OptionError read_graph\n"


def imported(code: ast.AST, modules: dict[str, Path]) -> Iterator[str]:
    """Yield the modules that code imports outside functions, including those for type checkers."""
    for node in ast.iter_child_nodes(code):
        if isinstance(node, ast.Import):
            yield from modules.keys() & {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from modules.keys() & {n if n in modules else node.module for n in names}
        elif not isinstance(node, ast.FunctionDef):
            yield from imported(node, modules)


def test_modules_have_no_cycle_of_top_level_imports() -> None:
    root, modules = Path(jetpy.__file__).parent, {}
    for name in glob("**/*.py", root_dir=root, recursive=True):
        parts = ("jetpy", *Path(name).with_suffix("").parts)
        modules[".".join(parts).removesuffix(".__init__")] = root / name
    assert {
        "jetpy",
        "jetpy.api.partitioning",
        "jetpy.workloads.incremental.buckets",
    } <= modules.keys()
    TopologicalSorter(
        {
            name: set(imported(ast.parse(path.read_text("utf-8")), modules))
            for name, path in modules.items()
        }
    ).prepare()
