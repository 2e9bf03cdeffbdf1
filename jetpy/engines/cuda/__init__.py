"""The `cuda` back end: workunits printed as CUDA C, compiled by NVRTC, launched by the driver.

Arrays are CuPy's. Nothing has to be built: CuPy, NVRTC and the headers that CuPy needs are wheels.
"""

SUFFIX = ".cubin"
"""Of the files that hold compiled code."""

WHEELS = {
    12: ("cupy-cuda12x>=14", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-runtime-cu12"),
    13: ("cupy-cuda13x>=14", "nvidia-cuda-nvrtc==13.*", "nvidia-cuda-runtime==13.*"),
}
"""What it takes for each major version of CUDA; the extras cuda12 and cuda13 are the same."""
