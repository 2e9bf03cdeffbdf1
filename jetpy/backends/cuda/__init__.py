"""The `cuda` back end: workunits printed as CUDA C, compiled by NVRTC, launched by the driver.

Arrays are CuPy's. Nothing has to be built: CuPy, NVRTC and the headers that CuPy needs are wheels.
"""

SUFFIX = ".cubin"
"""Of the files that hold compiled code."""
