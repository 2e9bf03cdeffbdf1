"""Every reader raises an error that is both a `JetpyError` and a `FileNotFoundError`."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jetpy
import jetpy.distributed
from jetpy.cli.command import code_of
from jetpy.distributed.reading import read_block
from jetpy.errors import JetpyError, MissingFileError
from jetpy.incremental.modifiers import read_modifiers
from jetpy.incremental.session import is_session, read_session
from jetpy.io.coordinates import read_coordinates
from jetpy.io.distances import read_distances
from jetpy.io.weights import read_targets, read_vertex_weights
from jetpy.meshes.files import read_mesh
from jetpy.meshes.openfoam import read_case

READERS: dict[str, Callable[[str], Any]] = {
    **{f"graph {suffix}": lambda name: jetpy.read_graph(name) for suffix in jetpy.io.FORMATS},
    "graph .graph.gz": jetpy.read_graph,
    "as_graph .txt": jetpy.as_graph,
    "partition .txt": lambda name: jetpy.partition(name, 2),
    **{f"parts {suffix}": jetpy.read_parts for suffix in (".part", ".npy", ".npz", ".csv")},
    "weights .txt": lambda name: read_vertex_weights(name, 3),
    "weights .npy": lambda name: read_vertex_weights(name, 3),
    "coordinates .txt": lambda name: read_coordinates(name, 3),
    "coordinates .npy": lambda name: read_coordinates(name, 3),
    "modifiers .txt": read_modifiers,
    "session .npz": read_session,
    "session or not .npz": is_session,
    "load .npz": jetpy.IncrementalPartitioner.load,
    "distances .txt": read_distances,
    "distances .npy": read_distances,
    "targets .txt": read_targets,
    "targets .npy": read_targets,
    "mesh .vtu": lambda name: read_mesh(Path(name)),
    "case ": lambda name: read_case(Path(name)),
    **{
        f"block {suffix}": lambda name: read_block(jetpy.distributed.api.communicator(None), name)
        for suffix in (".graph", ".parhip", ".npz", ".mtx", ".txt.gz")
    },
}


@pytest.mark.parametrize("reader", READERS)
def test_missing_file_raises_missing_file_error(tmp_path: Path, reader: str) -> None:
    name = str(tmp_path / ("missing" + reader.rpartition(" ")[2]))
    with pytest.raises(FileNotFoundError, match="missing") as found:
        READERS[reader](name)
    assert isinstance(found.value, JetpyError)
    assert isinstance(found.value, jetpy.MissingFileError)
    assert name in str(found.value)
    assert code_of(found.value) == 2


def test_missing_file_error_can_be_pickled() -> None:
    error = MissingFileError("a.graph: cannot be read")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is MissingFileError
    assert (str(again), again.errno) == (str(error), 2)


def test_unreadable_file_is_not_missing(tmp_path: Path) -> None:
    with pytest.raises(JetpyError, match="cannot be read: Is a directory") as found:
        jetpy.read_parts(tmp_path)
    assert not isinstance(found.value, FileNotFoundError)
