"""Run kernels on a processor or GPU; they know neither graphs nor which kernels there are."""
