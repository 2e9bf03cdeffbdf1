"""Modules import only lower layers; ``python -m tests.test_layers`` prints figures.

Imports inside functions and for type checkers count, too.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = """
    choices errors lazy metis
    kernel_language
    engines graph workloads
    device problem progress
    coarsening io refinement
    evaluation initial meshes pages profiling
    multilevel result
    constraints incremental mapping ordering
    api
    distributed
    __init__ study
    cli parmetis pymetis
    __main__
"""
"""Files and folders of `jetpy/`, lowest layer first; those of one layer are independent."""
FOLDERS_OF_KERNELS = """
    common
    coarsening flows initial multilevel refinement
    tasks
    constraints distributed incremental ordering
"""
"""Folders of `workloads/`, lowest layer first."""
ALLOWED = {
    "kernel_language": {"errors", "lazy"},
    "engines": {"errors", "kernel_language", "lazy"},
    "workloads": {"kernel_language"},
}
"""Allowed imports of folders that must stay independent of the rest."""
KNOW_KERNELS = {
    *("coarsening", "constraints", "device", "distributed", "incremental", "initial"),
    *("multilevel", "ordering", "problem", "refinement", "study"),
}


class Import(NamedTuple):
    """An import of one module by another."""

    module: str
    imported: str


def ranks(layers: str) -> dict[str, int]:
    lines = layers.strip().splitlines()
    return {name: rank for rank, line in enumerate(lines) for name in line.split()}


@cache
def modules() -> Mapping[str, Path]:
    """Return the files by module name relative to `jetpy`: ``engines.cpu.llvm``."""
    files = [
        *(path.relative_to(ROOT / "jetpy") for path in (ROOT / "jetpy").rglob("*.py")),
        *(path.relative_to(ROOT) for path in (ROOT / "workloads").rglob("*.py")),
    ]
    named = {file.with_suffix("").as_posix().replace("/", "."): file for file in files}
    return {
        name.removesuffix(".__init__"): ROOT / "jetpy" / file
        for name, file in named.items()
        if not name.startswith("docs.")
    }


def folder_of(module: str) -> str:
    return module.partition(".")[0]


@cache
def imports() -> frozenset[Import]:
    return frozenset(
        Import(module, imported)
        for module, file in modules().items()
        for name in _imported(ast.parse(file.read_bytes()))
        if (imported := _module_of(name)) != module
    )


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("jetpy"):
                yield from (f"{module}.{name.name}" for name in names)
            case ast.Import(names=names):
                yield from (name.name for name in names if name.name.startswith("jetpy"))


def _module_of(name: str) -> str:
    """Return the module that is imported by ``jetpy.module`` or ``jetpy.module.name``."""
    parts = name.split(".")[1:]
    while parts and ".".join(parts) not in modules():
        parts.pop()
    return ".".join(parts) or "__init__"


def violations() -> list[Import]:
    rank = ranks(LAYERS)
    return sorted(
        one
        for one in imports()
        if folder_of(one.module) not in (folder_of(one.imported), "__init__")
        and rank[folder_of(one.imported)] >= rank[folder_of(one.module)]
    )


def import_cycle(edges: Iterable[tuple[str, str]]) -> list[str]:
    """Return a cycle of imports, if there is one."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for module, imported in edges:
        sorter.add(module, imported)
    try:
        sorter.prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def max_depth() -> int:
    """Return the length of the longest chain of imports between folders."""
    below: dict[str, set[str]] = {}
    for one in imports():
        if folder_of(one.module) != "__init__":
            below.setdefault(folder_of(one.module), set()).add(folder_of(one.imported))

    @cache
    def height(name: str) -> int:
        return 1 + max((height(other) for other in below.get(name, ()) if other != name), default=0)

    return max(map(height, below))


def test_every_folder_has_a_layer() -> None:
    assert {folder_of(module) for module in modules()} == set(ranks(LAYERS))


def test_imports_follow_the_layers() -> None:
    assert violations() == []


def test_modules_have_no_import_cycle() -> None:
    assert import_cycle(imports()) == []


@pytest.mark.parametrize("name", ALLOWED)
def test_independent_folders_have_only_allowed_imports(name: str) -> None:
    known = {folder_of(one.imported) for one in imports() if folder_of(one.module) == name}
    assert known - {name} <= ALLOWED[name]


def test_only_some_folders_import_kernels() -> None:
    knowing = {folder_of(one.module) for one in imports() if folder_of(one.imported) == "workloads"}
    assert knowing - {"workloads"} == KNOW_KERNELS


def test_kernels_follow_their_layers() -> None:
    rank = ranks(FOLDERS_OF_KERNELS)
    for one in imports():
        if (
            folder_of(one.module) == folder_of(one.imported) == "workloads"
            and one.module != "workloads"
        ):
            folder, other = one.module.split(".")[1], one.imported.split(".")[1]
            assert folder == other or rank[folder] > rank[other], one


def test_modules_of_kernels_have_unique_names() -> None:
    """Compiled code is named by the last part of a module's name."""
    files = Counter(path.stem for path in (ROOT / "workloads").rglob("*.py"))
    assert [name for name, count in files.items() if count > 1] == ["__init__"]


def test_import_cycle_is_found() -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]
    assert set(import_cycle(edges)) == {"a", "b", "c"}


if __name__ == "__main__":
    arrows = {(folder_of(one.module), folder_of(one.imported)) for one in imports()}
    print(f"folders                  {len(ranks(LAYERS))}")
    print(f"longest chain            {max_depth()}")
    print(f"loose modules             {len([*(ROOT / 'jetpy').glob('*.py')])}")
    print(f"imports between folders  {sum(one != other for one, other in arrows)}")
    print(f"imports against the order {len(violations())}")
    print(f"cycle                    {' -> '.join(import_cycle(imports())) or 'none'}")
