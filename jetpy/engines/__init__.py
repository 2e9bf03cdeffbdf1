"""Engines compile and run kernels on a processor or GPU; they do not depend on graphs."""
