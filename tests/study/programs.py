"""Scripts that stand in for the C++ Jet and GPU-HeiPa: same arguments, files and output."""

from __future__ import annotations

import sys
from pathlib import Path

_COMMON = '''#!{python} -IS
"""Assigns consecutive vertices to parts."""
import json, sys, time


def divide(file, k):
    lines = open(file).read().splitlines()[1:]
    part = [i * int(k) // len(lines) for i in range(len(lines))]
    edges = ((u, int(v) - 1) for u, line in enumerate(lines) for v in line.split())
    return part, sum(part[u] != part[v] for u, v in edges) // 2


def write(part, path):
    open(path, "w").write("".join(f"{{p}}\\n" for p in part))


{before}
'''
_JET = """
file, settings, parts, metrics = sys.argv[1:]
coarsening, k, times, ratio = open(settings).read().split()
assert coarsening == "0" and 1 <= float(ratio) < 2
part, cut = divide(file, k)
write(part, parts)
runs = [
    {{"edge-cut": cut + i + {error}, "total-duration-seconds": 9.0 if i == 0 else i / 2}}
    for i in range(int(times))
]
open(metrics, "w").write(json.dumps(runs))
"""
_HEIPA = """
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert given["--config"] in ("default", "ultra") and given["--verbose-level"] == "1"
print("Read graph in     :", 1234.5)
print("imbalance         :", given["--imbalance"], file=sys.stderr)
part, cut = divide(given["--graph"], given["--k"])
write(part, given["--mapping"])
print("Solved in         :", 250.0 if given["--config"] == "default" else 750.0)
"""


def write_jet(path: Path, *, error: int = 0, before: str = "") -> Path:
    """Write a stand-in for the C++ Jet.

    It reports the cuts c, c + 1, c + 2, ... and the seconds 9, 0.5, 1, ..., where c is the cut of
    its parts plus `error`. It first runs the line `before`.
    """
    return _write(path, _COMMON + _JET, error=error, before=before)


def write_heipa(path: Path, *, before: str = "") -> Path:
    """Write a stand-in for GPU-HeiPa, which takes 0.25 s, or 0.75 s with the preset `ultra`."""
    return _write(path, _COMMON + _HEIPA, before=before)


def _write(path: Path, text: str, **values: object) -> Path:
    path.write_text(text.format(python=sys.executable, **values))
    path.chmod(0o755)
    return path
