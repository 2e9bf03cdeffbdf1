"""Transfer of arrays and sparse matrices from other packages and GPUs to the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.errors import GraphError

_WAYS = ("__array__", "__cuda_array_interface__", "__dlpack__")
_HOST = (1, 3, 11)
"""DLPack devices whose memory the CPU can read: CPU, and memory pinned by CUDA or ROCm."""


def is_array(data: Any) -> bool:
    """Return whether `data` is an array of NumPy, CuPy, torch or another package with DLPack."""
    return any(hasattr(data, way) for way in _WAYS)


def is_on_gpu(data: Any) -> bool:
    """Return whether `data` is an array of CuPy, torch or another package on an NVIDIA GPU."""
    if str(getattr(data, "layout", "torch.strided")) != "torch.strided":
        return False  # the attribute of a sparse torch tensor raises
    return hasattr(data, "__cuda_array_interface__")


def on_host(data: Any) -> npt.NDArray[Any]:
    """Return `data` as a NumPy array, without a copy if it is already on the host.

    Raises
    ------
    GraphError
        If `data` is on a GPU, only CuPy can copy it, and CuPy is not installed; or if the rows of a
        list have different lengths.
    """
    if isinstance(data, list | tuple):
        try:
            return np.asarray(data)
        except ValueError:
            raise GraphError(
                f"{data!r:.40} is not an array; its rows must have equal lengths"
            ) from None
    if isinstance(data, np.ma.MaskedArray):  # as in SciPy, masked entries are absent
        return np.asarray(data.filled(0))
    if hasattr(data, "detach"):  # torch exports neither tensors with gradients nor bfloat16
        tensor = data.detach().cpu()
        is_short = tensor.is_floating_point() and tensor.element_size() < 4
        return np.asarray(tensor.float() if is_short else tensor)
    on_gpu = hasattr(data, "__cuda_array_interface__")
    if on_gpu and hasattr(data, "get"):  # CuPy
        return np.asarray(data.get())
    if hasattr(data, "__array__") or not (on_gpu or hasattr(data, "__dlpack__")):
        return np.asarray(data)
    if on_gpu:
        return np.asarray(cupy_module().asarray(data).get())
    if data.__dlpack_device__()[0] in _HOST:
        return np.from_dlpack(data)
    return np.asarray(cupy_module().from_dlpack(data).get())


def sparse_on_host(data: Any) -> Any:
    """Return a sparse matrix of any package as a SciPy matrix; None if `data` is not sparse.

    Raises
    ------
    GraphError
        If `data` is a sparse tensor whose number of axes is not 2.
    """
    if hasattr(data, "tocsr"):
        return data.get() if hasattr(data, "get") else data.tocsr()
    if not getattr(data, "is_sparse", False) and not hasattr(data, "to_sparse_coo"):
        return None
    if str(data.layout) == "torch.strided":
        return None
    if data.ndim != 2:
        raise GraphError(f"the sparse tensor has shape {tuple(data.shape)}; it must be a matrix")
    entries = data.to_sparse_coo()
    places = on_host(entries._indices())
    return sp.coo_array((on_host(entries._values()), (places[0], places[1])), tuple(data.shape))


def cupy_module() -> Any:
    """Return CuPy.

    Raises
    ------
    GraphError
        If it is not installed.
    """
    try:
        import cupy
    except ImportError:
        raise GraphError(
            "the array is in GPU memory; jetpy needs CuPy to copy it: pip install cupy-cuda13x "
            "(or cupy-cuda12x)"
        ) from None
    return cupy
