"""The `cuda` back end: workunits printed as CUDA C, compiled by NVRTC, launched by the driver.

Arrays are CuPy's. No build step is needed: CuPy, NVRTC and the headers that CuPy needs are wheels.
"""

SUFFIX = ".cubin"
"""Suffix of files with compiled code."""

WHEELS = {
    12: ("cupy-cuda12x>=14", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-runtime-cu12"),
    13: ("cupy-cuda13x>=14", "nvidia-cuda-nvrtc==13.*", "nvidia-cuda-runtime==13.*"),
}
"""Required wheels for each major version of CUDA; the extras cuda12 and cuda13 are the same."""
