"""Time and peak memory for 2 parts up to half as many parts as vertices."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import jetpy
from bench.harness import Option, parser
from bench.peak import peak
from bench.tables import note, show
from jetpy.study.arrays import save_arrays


def star(n: int) -> jetpy.Graph:
    """Return a star: one vertex that is adjacent to the n - 1 others."""
    entries = np.ones(n - 1, np.int32), (np.zeros(n - 1, np.int32), np.arange(1, n))
    half = sp.coo_array(entries, shape=(n, n))
    return jetpy.as_graph((half + half.T).tocsr(), name=f"star-{n}")


def parts_of(n: int) -> list[int]:
    """Return 2, 16, the powers of ten from 100 to n / 10, n / 10 and n / 2."""
    powers = [10**i for i in range(2, 9) if 10**i < n // 10]
    return sorted({2, 16, *powers, n // 10, n // 2})


OPTIONS = {
    "grids": Option((400, 1000), metavar="SIDE", may_be_empty=True),
    "stars": Option((80_000, 1_000_000), metavar="N", may_be_empty=True),
    "ks": Option((), "numbers of parts; by default from 2 to n / 2", type=int),
    "preset": "default",
    "threads": 1,
    "backend": "cpu",
}


def main() -> None:
    """Partition grids and stars into increasing numbers of parts and print the table."""
    options = parser("parts", __doc__, OPTIONS).parse_args()
    graphs = [jetpy.generators.grid(side, side) for side in options.grids]
    graphs += [star(n) for n in options.stars]
    rows = []
    for graph in graphs:
        with tempfile.TemporaryDirectory() as folder:
            save_arrays(Path(folder), graph)
            for k in options.ks or parts_of(graph.n):
                found = peak(folder, k, options.preset, options.threads, options.backend)
                mebibytes = (found["peak"] - found["before"]) / 1024
                rows.append(
                    [
                        graph.name,
                        f"{k:,}",
                        f"{found['seconds']:.2f}",
                        f"{mebibytes:,.0f}",
                        f"{found['cut']:,}",
                        "yes" if found["feasible"] else "NO",
                        str(found["empty"]),
                    ]
                )
                note(" ".join(rows[-1]))
    headers = ["graph", "k", "seconds", "MiB", "cut", "feasible", "empty parts"]
    show("Time and memory by the number of parts", headers, rows, markdown=options.markdown)


if __name__ == "__main__":
    main()
