"""Random problems, each checked by plain NumPy: ``python -m tests.fuzz --help``."""
