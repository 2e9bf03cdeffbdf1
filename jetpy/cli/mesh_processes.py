"""``jetpy mesh`` in several processes started by ``mpiexec``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetpy.cli.processes import GraphInput, partition_together
from jetpy.errors import FileFormatError, OptionError

if TYPE_CHECKING:
    import numpy.typing as npt

    from jetpy.cli.processes import Save
    from jetpy.distributed import DistributedPartition, MeshBlock
    from jetpy.distributed.block import Block
    from jetpy.distributed.mesh_files import OtherCells


OF_GRAPHS = "home", "fixed", "together", "within", "targets", "min_weights", "max_weights"
"""Options of `jetpy partition` that `jetpy mesh` does not have."""


@dataclass(frozen=True)
class MeshInput(GraphInput):
    """A mesh file in pieces, and the file of the parts of its cells.

    Attributes
    ----------
    common_nodes : int or None
    cell_weights : tuple of str
        Files of the weights of all cells.
    """

    common_nodes: int | None = None
    cell_weights: tuple[str, ...] = ()

    def check_target(self, output: Path) -> None:
        """Check that several processes can write the parts to this file; JetpyError."""
        from jetpy.io.parts import is_parts_name

        if not is_parts_name(output):
            raise FileFormatError(
                f"{output}: a run with several processes does not write meshes, only the part of "
                "each cell; use .part, .txt or .npy"
            )
        super().check_target(output)

    def read(self, comm: Any, path: Path) -> tuple[Block, Save]:
        """Return the rows of the dual graph, and the function that writes parts. Collective."""
        from jetpy.distributed import dual_graph
        from jetpy.distributed.api import communicator
        from jetpy.distributed.block import as_block
        from jetpy.distributed.faults import run_collectively
        from jetpy.distributed.mesh_files import read_cells
        from jetpy.distributed.mesh_parts import write_cell_parts

        group = communicator(comm)
        run_collectively(group, lambda: _check_is_file(path))
        mesh, others = read_cells(group, path)
        weights = run_collectively(group, lambda: self._weights(mesh, others))
        block = dual_graph(comm, mesh, self.common_nodes)

        def save(result: DistributedPartition, output: Path) -> None:
            write_cell_parts(group, output, mesh, others, result.parts)

        rows = block.indptr, block.indices, block.edge_weights, weights
        return run_collectively(group, lambda: as_block(rows)), save

    def _weights(self, mesh: MeshBlock, others: OtherCells) -> npt.NDArray[Any] | None:
        """Return the weights of the owned elements, shape (owned, c); None for 1."""
        import numpy as np

        from jetpy.graph.validate import CellNaming
        from jetpy.io.weights import read_vertex_weights

        naming = CellNaming(range(others.all_cells))
        columns = []
        for name in self.cell_weights:
            if not Path(name).is_file():
                raise OptionError(
                    f"--cell-weights {name!r} is not a file; cell data need a run with one process"
                )
            own = read_vertex_weights(Path(name), others.all_cells, naming=naming)[mesh.ids]
            columns.append(own.reshape(len(own), -1))
        return np.concatenate(columns, axis=1) if columns else None


def _check_is_file(path: Path) -> None:
    """Refuse folders; OptionError."""
    if path.is_dir():
        raise OptionError(f"{path} is an OpenFOAM case, which needs a run with one process")


def mesh_together(
    ctx: click.Context,
    mesh: Path,
    k: int,
    *,
    common_nodes: int | None,
    cell_weights: tuple[str, ...],
    **options: Any,
) -> None:
    """Partition a mesh that is distributed over processes; rank 0 prints the result. Collective."""
    none = dict.fromkeys(OF_GRAPHS)
    source = MeshInput(common_nodes=common_nodes, cell_weights=cell_weights)
    partition_together(ctx, mesh, k, source=source, settings={}, **none, **options)
