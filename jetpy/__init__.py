"""Graph partitioning for NVIDIA GPUs and multicore CPUs, the same on all of them."""
