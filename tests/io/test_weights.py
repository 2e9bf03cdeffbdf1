"""Vertex weights in files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from jetpy.errors import FileFormatError
from jetpy.io.weights import read_vertex_weights

BAD = {
    "negative": (
        "0\n# two\n-1\n",
        "w.txt: vertex 1 on line 3 has weight -1, but weights must be integers from 0 on",
    ),
    "fraction": (
        "1\n.5\n",
        "w.txt: vertex 1 on line 2 has weight 0.5, which is not a whole number; "
        "scale=True (--scale) scales weights to integers",
    ),
    "word": ("1\ntwo\n", "w.txt: line 2: 'two' is not a number"),
    "of several": (
        "1 2\n3 .5\n",
        "w.txt: weight 1 of vertex 1 on line 2 is 0.5; it must be an integer in 0..2**31 - 1",
    ),
    "too few": (
        "1\n",
        "w.txt: the array of weights has shape (1,); there must be weights of 2 vertices",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_weight_is_named_with_file_and_line(tmp_path: Path, case: str) -> None:
    content, words = BAD[case]
    (tmp_path / "w.txt").write_text(content)
    with pytest.raises(FileFormatError, match=f"{re.escape(words)}$"):
        read_vertex_weights(tmp_path / "w.txt", 2)


def test_bad_weight_in_an_array_is_named(tmp_path: Path) -> None:
    np.save(tmp_path / "w.npy", [0, -1])
    with pytest.raises(FileFormatError, match=r"w\.npy: vertex 1 has weight -1, but"):
        read_vertex_weights(tmp_path / "w.npy", 2)


def test_fractional_weights_are_read_with_scale(tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text("0.5\n1e200\n0\n")
    weights = read_vertex_weights(tmp_path / "w.txt", 3, scale=True)
    assert weights.tolist() == [0.5, 1e200, 0]
    (tmp_path / "w.txt").write_text("-0.5\n1\n")
    with pytest.raises(
        FileFormatError, match=r"has weight -0\.5; weights must be numbers from 0 on to be scaled$"
    ):
        read_vertex_weights(tmp_path / "w.txt", 2, scale=True)
