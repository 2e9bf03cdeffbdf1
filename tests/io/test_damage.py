"""Reading a file with damaged bytes gives a valid graph or a jetpy error."""

from __future__ import annotations

import contextlib
import functools
import random
from pathlib import Path

import pytest

from jetpy.errors import JetpyError
from jetpy.io import read_graph, write_graph
from jetpy.io.graphs import as_graph
from tests.graphs import random_graph

PIECES = (b"", b"\n", b" ", b"0", b"-1", b"%", b"1.5", b"9999999999", b"\x00", b"\xff\xfe", b"nan")

WEIGHTED = ".graph", ".parhip"


@functools.cache
def contents(suffix: str, folder: Path) -> bytes:
    write_graph(folder / f"good{suffix}", random_graph(12, 30, 1, weighted=suffix in WEIGHTED))
    return (folder / f"good{suffix}").read_bytes()


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize(
    "suffix", [".graph", ".mtx", ".npz", ".parhip", ".txt", ".csv", ".graph.gz", ".txt.xz"]
)
def test_damaged_file_gives_a_valid_graph_or_an_error(
    tmp_path: Path, suffix: str, repair: bool
) -> None:
    rng = random.Random(7)
    file = tmp_path / f"damaged{suffix}"
    for _ in range(60):
        content = contents(suffix, tmp_path)
        for _ in range(rng.randint(1, 3)):
            start = rng.randrange(len(content) + 1)
            stop = min(len(content), start + rng.choice([0, 1, 1, 5, 10_000]))
            content = content[:start] + rng.choice(PIECES) + content[stop:]
        file.write_bytes(content)
        with contextlib.suppress(JetpyError):
            graph = read_graph(file, repair=repair)
            as_graph((graph.indptr, graph.indices, graph.edge_weights, graph.vertex_weights))
