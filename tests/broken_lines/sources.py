"""The modules to break, the mutations drawn from them, and the tests nearest to each."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

from tests.broken_lines.mutations import Mutation, mutations_of, signatures_of

ROOT = Path(__file__).parents[2]
BROKEN = (
    "jetpy/workloads/*/*.py",
    *(
        f"jetpy/{folder}/*.py"
        for folder in (
            "coarsening",
            "constraints",
            "constraints/connected",
            "distributed",
            "incremental",
            "initial",
            "mapping",
            "multilevel",
            "ordering",
            "refinement",
        )
    ),
    "jetpy/problem/problem.py",
)
"""Kernels and the code that launches them."""
LEFT_OUT = (
    "tests/engines/test_cache.py",
    "tests/engines/cuda/*",
    "tests/engines/kokkos/*",
    "tests/bench/*",
    "tests/broken_lines/*",
    "tests/cli/*",
    "tests/graph/*",
    "tests/io/*",
    "tests/kernel_language/*",
    "tests/pages/*",
    "tests/study/*",
    "tests/test_progress.py",
    "tests/test_developing.py",
    "tests/test_docs_figures.py",
    "tests/test_docstrings.py",
    "tests/test_errors_page.py",
    "tests/test_layers.py",
    "tests/test_markdown.py",
    "tests/test_pack*.py",
    "tests/test_recipes.py",
    "tests/test_tutorials.py",
)
"""Tests of files, pages, packages, other back ends and the text of the sources."""


@dataclass(frozen=True)
class Case:
    """A mutation of the module at `path`, relative to the repository's root."""

    path: Path
    mutation: Mutation

    def __str__(self) -> str:
        return f"{self.path}:{self.mutation.line}: {self.mutation.kind}: {self.mutation}"


def broken_files() -> list[Path]:
    """Return the paths of the modules to break, relative to the repository's root."""
    found = (path for pattern in BROKEN for path in sorted(ROOT.glob(pattern)))
    return [path.relative_to(ROOT) for path in found]


def draw(seed: int, count: int, folder: str | None = None) -> list[Case]:
    """Return the first `count` distinct mutations in the order that a seed gives.

    Each line is equally likely, then each kind of its mutations, then each mutation of the kind.
    With a `folder`, all are in modules whose folder has this name.
    """
    rng = random.Random(seed)
    lines = [line for line in _lines() if folder in (None, line[0].parent.name)]
    rng.shuffle(lines)
    drawn = []
    for path, found in lines[:count]:
        kind = rng.choice(sorted({one.kind for one in found}))
        drawn.append(Case(path, rng.choice([one for one in found if one.kind == kind])))
    return drawn


@cache
def _lines() -> Sequence[tuple[Path, Sequence[Mutation]]]:
    """Return the mutations of each line with at least one, file by file."""
    texts = {path: (ROOT / path).read_bytes() for path in broken_files()}
    signatures = signatures_of(list(texts.values()))
    return [
        (path, list(found))
        for path, text in texts.items()
        for _, found in groupby(mutations_of(text, signatures), key=lambda one: one.line)
    ]


def nearest_tests(path: Path) -> list[str]:
    """Return the test files by distance from a module; those with its name come first.

    A module is one step from each that imports it; a test is one step from the modules of the
    folder that its own mirrors. Tests that none of these steps reaches come last, and those of
    several processes, which take long, after others of the same distance.
    """
    imports = _imports()
    distances, reached = {}, {path}
    for distance in range(len(imports)):
        distances.update(dict.fromkeys(reached, distance))
        reached = {f for f, used in imports.items() if f not in distances and used & reached}
    last = len(imports)
    tests = [file for file in imports if file.match("test_*.py") and file.parts[0] == "tests"]
    kept = [file for file in tests if not any(file.match(pattern) for pattern in LEFT_OUT)]

    def order(test: Path) -> tuple[bool, int, bool, str]:
        has_name = path.stem in test.stem
        return not has_name, distances.get(test, last), "distributed" in test.parts, str(test)

    return list(map(str, sorted(kept, key=order)))


@cache
def _imports() -> Mapping[Path, Set[Path]]:
    return {file: set(_imported(file)) for file in _modules()}


def _modules() -> Iterator[Path]:
    """Yield the modules of jetpy and of the tests, relative to the repository's root."""
    for pattern in ("jetpy/*.py", "jetpy/*/*.py", "jetpy/*/*/*.py", "tests/**/*.py"):
        yield from (path.relative_to(ROOT) for path in sorted(ROOT.glob(pattern)))


def _imported(file: Path) -> Iterator[Path]:
    """Yield the possible paths of imported modules, relative to the repository's root."""
    if file.parts[0] == "tests" and len(file.parts) > 2:
        folder = Path("jetpy", *file.parts[1:-1])
        yield from (path.relative_to(ROOT) for path in (ROOT / folder).glob("*.py"))
    for node in ast.walk(ast.parse((ROOT / file).read_bytes())):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                yield Path(*module.split(".")).with_suffix(".py")
                yield from (Path(*module.split("."), f"{name.name}.py") for name in names)
            case ast.Import(names=names):
                yield from (Path(*name.name.split(".")).with_suffix(".py") for name in names)
