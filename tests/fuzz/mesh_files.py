"""Mesh files in pieces, which threads read; their parts equal those of one process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import jetpy
import jetpy.distributed
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.mesh_files import read_cells
from jetpy.distributed.mesh_parts import parts_of_cells
from jetpy.errors import FileFormatError
from jetpy.meshes.dual import spread
from jetpy.meshes.files import read_mesh
from jetpy.meshes.formats import meshio
from tests.distributed.threads import run_on_threads
from tests.fuzz.checks import Finding, ensure, equal
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine
from tests.fuzz.meshes import Blocks, corners_of, meshed
from tests.fuzz.oracles import Ints
from tests.meshes.gmsh_files import write_msh

CHOICES: Choices = {
    "mesh file": [
        *("binary .msh", "text .msh", ".npz", ".vtu"),
        *([".xdmf"] if find_spec("h5py") else []),
    ],
    "readers of a mesh": [1, 2, 3, 4],
    "common nodes in a file": [None, None, 1, 2, 3],
}
QUADRATIC = {"line": 3, "triangle": 6, "quad": 8, "tetra": 10, "hexahedron": 20, "wedge": 18}
"""Number of nodes of quadratic cells."""
ENGINE: Engine = {"backend": "cpu", "threads": 1}


@dataclass(frozen=True, eq=False)
class MeshFile:
    form: str
    blocks: Blocks
    common_nodes: int | None
    size: int

    def __str__(self) -> str:
        shapes = [(name, cells.shape) for name, cells in self.blocks]
        return f"{self.form}: {shapes}, common_nodes={self.common_nodes}, {self.size} processes"

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        with TemporaryDirectory() as folder:
            path = Path(folder, "mesh" + self.form.split()[-1])
            self._write(path)
            if self.form == ".npz":
                yield from self._arrays(path)
            else:
                yield from self._cells(path)

    def _write(self, path: Path) -> None:
        nodes = 1 + max((int(cells.max(initial=-1)) for _, cells in self.blocks), default=-1)
        if self.form == ".npz":
            elements = [row for _, cells in self.blocks for row in cells]
            eptr = np.cumsum([0, *map(len, elements)])
            np.savez(path, eptr=eptr, eind=np.concatenate([np.zeros(0, np.int64), *elements]))
            return
        mesh = meshio().Mesh(np.zeros((nodes, 3)), self.blocks)
        if path.suffix == ".msh":
            write_msh(path, mesh, binary=self.form.startswith("binary"))
        else:
            mesh.write(path)

    def _arrays(self, path: Path) -> Iterator[Finding]:
        """Compare several processes with one that reads the arrays."""
        least = self.common_nodes or 1

        def work(comm: Communicator) -> Any:
            mesh = jetpy.distributed.read_mesh(comm, path)
            block = jetpy.distributed.dual_graph(comm, mesh, least)
            return jetpy.distributed.partition(comm, block, 3, preset="fast", **ENGINE).parts

        (alone,) = run_on_threads(1, work)
        found = np.concatenate(run_on_threads(self.size, work))
        yield equal("mesh files in pieces", found, alone)

    def _cells(self, path: Path) -> Iterator[Finding]:
        """Compare the parts of all cells with those of one process."""

        def work(comm: Communicator) -> Any:
            mesh, others = read_cells(comm, path)
            block = jetpy.distributed.dual_graph(comm, mesh, self.common_nodes)
            result = jetpy.distributed.partition(comm, block, 3, preset="fast", **ENGINE)
            return parts_of_cells(comm, mesh, others, result.parts)[0]

        try:
            mesh = read_mesh(path)
        except FileFormatError:
            refused = run_on_threads(self.size, lambda comm: _is_refused(comm, path))
            yield ensure("mesh files in pieces", all(refused), "not refused")
            return
        graph = jetpy.dual_graph(mesh, common_nodes=self.common_nodes)
        parts = jetpy.partition(graph, 3, preset="fast", **ENGINE).parts
        found = np.concatenate(run_on_threads(self.size, work))
        yield equal("mesh files in pieces", found, spread(mesh, parts))


def _is_refused(comm: Communicator, path: Path) -> bool:
    try:
        jetpy.distributed.read_mesh(comm, path)
    except FileFormatError:
        return True
    return False


def mesh_file(rng: Random) -> MeshFile:
    form, size, common_nodes = (rng.pick(what, CHOICES[what]) for what in CHOICES)
    drawn = meshed(rng)
    blocks = [
        (name.rstrip("0123456789"), corners_of(name, cells))
        for name, cells in drawn.blocks + drawn.boundary
    ]
    halves = [(name, half) for name, cells in blocks for half in np.array_split(cells, 2)]
    halves = [halves[i] for i in rng.permutation(len(halves))]
    if form.endswith(".msh"):
        halves = [_perhaps_quadratic(rng, *half) for half in halves]
    else:  # meshio does not write all others
        halves = [half for half in halves if len(half[1])]
    return MeshFile(form, halves, common_nodes, size)


def _perhaps_quadratic(rng: Random, name: str, cells: Ints) -> tuple[str, Ints]:
    if name not in QUADRATIC or rng.random() < 0.5:
        return name, cells
    count = QUADRATIC[name]
    more = rng.integers(0, cells.max(initial=0) + 9, (len(cells), count - cells.shape[1]))
    return f"{name}{count}", np.concatenate([cells, more], axis=1)
