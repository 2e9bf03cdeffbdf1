"""docs/errors.md quotes the exact messages; each is provoked here."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.engines.cache import check_trusted
from jetpy.engines.cuda import diagnosis
from jetpy.engines.cuda.installation import Installation
from jetpy.engines.kokkos.paths import check_not_hidden
from jetpy.engines.oom_message import _explain
from jetpy.io.permutations import read_permutation
from jetpy.meshes.cell_types import type_of
from jetpy.meshes.files import read_mesh
from jetpy.meshes.formats import output_format
from tests.graphs import from_edges
from tests.test_remedies import LazyFrame

PAGE = Path(__file__).parents[1] / "docs" / "errors.md"
PATH = from_edges(3, [(0, 1), (1, 2)])
FILES = {
    "loop.mtx": "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n1 2\n",
    "oneway.graph": "3 1\n2 3\n\n\n",
    "short.graph": "3 2\n2\n1 3\n",
    "header.graph": "three vertices\n",
    "count.graph": "2 2\n2\n1\n",
    "outside.graph": "2 1\n3\n1\n",
    "several.graph": "2 1 1 2\n1 1 2\n1 1 1\n",
    "text.txt": "0 1\n1 two\n",
    "far.txt": "0 1\n900000000 3\n",
    "ids.txt": "5000000000001 5000000000002\n",
    "stiffness.txt": "0 1 -0.5\n",
    "laplacian.mtx": "%%MatrixMarket matrix coordinate real symmetric\n"
    "2 2 3\n1 1 1.0\n2 1 -1.0\n2 2 1.0\n",
    "real.mtx": "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 0.5\n",
    "twice.txt": "0 1\n0 1\n",
    "mesh.stl": "no mesh",
    "old.msh": "$MeshFormat\n3.0 0 8\n$EndMeshFormat\n",
    "few.part": "0\n1\n",
    "perm.txt": "3\n1\n2\n",
    "deleted.part": "0\n-1\n",
}
"""Content by file name; a message begins with the name."""


def read(name: str) -> Callable[[], object]:
    return lambda: jetpy.read_graph(name)


def partition(**options: Any) -> Callable[[], object]:
    k = options.pop("k", 2)
    return lambda: jetpy.partition(PATH, k, **options)


def update(**batch: Any) -> Callable[[], object]:
    return lambda: jetpy.IncrementalPartitioner(PATH, 2, backend="cpu").update(jetpy.Batch(**batch))


def refuse_cache() -> None:
    folder = Path("cache")
    folder.mkdir()
    folder.chmod(0o777)
    check_trusted(folder, Path("kernel"))


def cuda_problem(**found: Any) -> None:
    installation = Installation(**{"nvrtc": (13, 0), "driver": (13, 0), **found})
    raise jetpy.BackendError(next(diagnosis.problems(installation)).what)


def hide_pykokkos() -> None:
    spec = ModuleSpec("pykokkos", None, is_package=True)
    assert spec.submodule_search_locations is not None
    spec.submodule_search_locations.append("/home/me/kokkos-sources/pykokkos")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jetpy.engines.kokkos.paths.find_spec", lambda package: spec)
        check_not_hidden("pykokkos")


def fill_gpu() -> None:
    raise jetpy.OutOfMemoryError(_explain(64_000_000, 191_520_000, 8 << 30))


def read_reduced_session() -> None:
    live = jetpy.IncrementalPartitioner(PATH, 2, backend="cpu")
    live.delete_vertices([0])
    live.save("session.npz")
    jetpy.read_graph("session.npz")


def write_without_h5py() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "h5py", None)
        output_format(Path("mesh.xdmf"))


NO_GRAPHS = (
    "mesh.stl",
    "old.msh",
    "perm.txt",
    "few.part",
    "deleted.part",
)
PROVOKED: list[Callable[[], object]] = [
    *(read(name) for name in FILES if name not in NO_GRAPHS),
    lambda: jetpy.read_parts("few.part", n=3),
    lambda: jetpy.read_parts("deleted.part"),
    lambda: read_permutation("perm.txt", 3),
    read_reduced_session,
    lambda: jetpy.as_graph(np.zeros((2, 3))),
    lambda: jetpy.as_graph({0: [1]}),
    lambda: jetpy.as_graph((np.array([0, 1, 2]), np.array([1, 2, 0]))),
    lambda: jetpy.as_graph(LazyFrame()),
    lambda: jetpy.as_graph(PATH, n=4),
    lambda: jetpy.from_edges({"a": ["Bob"], "b": ["Cy"]}, "a", "b", nodes=["Bob"]),
    lambda: read_mesh(Path("mesh.stl")),
    lambda: read_mesh(Path("old.msh")),
    lambda: output_format(Path("mesh.off")),
    write_without_h5py,
    lambda: type_of("hexagon"),
    lambda: jetpy.partition_many([PATH, PATH], [2, 0]),
    lambda: jetpy.partition_many([PATH, PATH], 2, fixed=[None]),
    partition(imbalance=3),
    partition(preset="best"),
    partition(options={"patience": 12}),
    partition(preset="jet", options=jetpy.Options()),
    partition(targets=[1, 2, 3]),
    partition(max_weights=1),
    partition(k=None),
    partition(connected=True, objective="volume"),
    lambda: jetpy.partition(PATH, 2, backend="cpu").members(2),
    lambda: jetpy.write_parts("nowhere/mesh.part", [0]),
    lambda: jetpy.map_processes(PATH, "4:8", "1"),
    update(delete_edges=[(0, 2)]),
    update(delete_vertices=[3]),
    refuse_cache,
    lambda: cuda_problem(driver=()),
    lambda: cuda_problem(),
    lambda: cuda_problem(cupy="14.0"),
    fill_gpu,
    hide_pykokkos,
]


SELF_EXPLANATORY = {
    "old.msh: the MSH version is 3.0; jetpy reads 2, 4.0 and 4.1; save it as MSH 4.1: "
    "gmsh FILE -save -save_all -format msh41 -o new.msh",
    "mesh.xdmf: files of this format need h5py: pip install h5py",
    "perm.txt: line 1: row 3 is not in 0..2; if the file counts from 1, pass base=1 (--base 1)",
    "mesh.off: files with this suffix cannot store the part of each cell; "
    "use .vtu, .vtk, .msh, .xdmf or .med",
    "nowhere/mesh.part: cannot be written: No such file or directory",
    "n is 4, but the graph has 3 vertices; leave n out",
    "an edge ends at 'Cy', which is not in nodes",
    "there is no part 2; parts are numbered 0..1",
    "graphs[1]: k is 0; k must be in 1..16777215",
    "unknown preset 'best'; choose one of default, fast, ultra, max, jet, jet-ultra, "
    "gkway, gkway-journal, igkway",
    "k is missing; give the number of parts, or max_weights without it",
    "connected cannot be combined with an objective other than cut",
}
"""Messages that name the remedy, so that the page has nothing to add."""


def messages() -> set[str]:
    """Return the messages that the page quotes, one per line."""
    return set(re.findall(r"^- `([^`]+)`$", PAGE.read_text("utf-8"), re.MULTILINE))


def test_messages_are_as_expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).write_text(content)
    found = set()
    for provoke in PROVOKED:
        with pytest.raises(jetpy.JetpyError) as error:
            provoke()
        found.add(str(error.value))
    assert found == messages() | SELF_EXPLANATORY
