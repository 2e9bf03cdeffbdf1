"""Cut matrices in files, read back with other libraries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import jetpy
from jetpy.errors import FileFormatError, JetpyError
from jetpy.io import cut_matrix
from jetpy.io.cut_matrix import write_cut_matrix
from tests.graphs import edge_dict, random_graph


@pytest.fixture(params=[1, 4, 7])
def matrix(request: pytest.FixtureRequest) -> sp.csr_array:
    """Return the cut matrix of a partition whose last part is empty if k > 1."""
    k = request.param
    parts = np.arange(40) % max(k - 1, 1)
    return jetpy.evaluate(random_graph(40, 100, k, weighted=True), parts, k).cut_matrix


def test_npy_is_read_by_numpy(matrix: sp.csr_array, tmp_path: Path) -> None:
    write_cut_matrix(tmp_path / "m.npy", matrix)
    found = np.load(tmp_path / "m.npy")
    assert found.dtype == np.int64
    assert found.tolist() == matrix.toarray().tolist()


@pytest.mark.filterwarnings("ignore:.*spmatrix:DeprecationWarning")  # SciPy 1.18: of the type
def test_mtx_is_read_by_scipy(matrix: sp.csr_array, tmp_path: Path) -> None:
    write_cut_matrix(tmp_path / "m.mtx", matrix)
    if matrix.nnz:
        found = scipy.io.mmread(tmp_path / "m.mtx")
        assert found.toarray().tolist() == matrix.toarray().tolist()
    write_cut_matrix(tmp_path / "m.mtx.gz", matrix)
    of_parts = jetpy.read_graph(tmp_path / "m.mtx.gz")
    assert of_parts.n == matrix.shape[0]
    u, v = matrix.nonzero()
    weights = zip(zip(u.tolist(), v.tolist(), strict=True), matrix.data.tolist(), strict=True)
    assert edge_dict(of_parts) == dict(weights)


def test_csv_lists_each_pair_once(matrix: sp.csr_array, tmp_path: Path) -> None:
    write_cut_matrix(tmp_path / "m.csv", matrix)
    header, *lines = (tmp_path / "m.csv").read_text().splitlines()
    assert header == "part,other,weight"
    found = np.zeros(matrix.shape, np.int64)
    for line in lines:
        part, other, weight = map(int, line.split(","))
        assert part < other
        found[part, other] = found[other, part] = weight
    assert len(lines) == matrix.nnz // 2
    assert found.tolist() == matrix.toarray().tolist()


@pytest.mark.filterwarnings("ignore:.*spmatrix:DeprecationWarning")  # SciPy 1.18: of the type
@pytest.mark.parametrize("suffix", [".npy", ".mtx", ".csv"])
def test_sums_of_64_bits_are_stored(suffix: str, tmp_path: Path) -> None:
    weight = 2**46 - 1
    matrix = sp.csr_array(np.array([[0, weight, 0], [weight, 0, 7], [0, 7, 0]]))
    path = tmp_path / f"m{suffix}"
    write_cut_matrix(path, matrix)
    if suffix == ".csv":
        assert path.read_text() == f"part,other,weight\n0,1,{weight}\n1,2,7\n"
    else:
        found = np.load(path) if suffix == ".npy" else scipy.io.mmread(path).toarray()
        assert found.tolist() == matrix.toarray().tolist()


@pytest.mark.parametrize("name", ["m", "m.txt", "m.part", "m.npz", "m.json", "m.gz"])
def test_other_suffix_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"must be one of \.npy, \.mtx, \.csv"):
        write_cut_matrix(tmp_path / name, sp.csr_array((2, 2), dtype=np.int64))
    assert not list(tmp_path.iterdir())


def test_too_large_matrix_or_missing_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cut_matrix, "MAX_DENSE", 3)
    large = sp.csr_array((4, 4), dtype=np.int64)
    with pytest.raises(FileFormatError, match=r"4 parts are too many for \.npy.*write \.mtx"):
        write_cut_matrix(tmp_path / "m.npy", large)
    write_cut_matrix(tmp_path / "m.csv", large)
    with pytest.raises(JetpyError, match="cannot be written"):
        write_cut_matrix(tmp_path / "nowhere" / "m.csv", large)
