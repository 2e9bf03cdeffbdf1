"""Hashes of partitions of one graph, in a process of its own (see `bench.determinism`)."""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import jetpy


def main() -> None:
    """Print the hash of the parts for each k and preset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", type=Path)
    parser.add_argument("threads", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("backend")
    parser.add_argument("--ks", nargs="+", type=int, required=True)
    parser.add_argument("--presets", nargs="+", required=True)
    options = parser.parse_args()
    graph = jetpy.read_graph(options.graph)
    hashes = {}
    for k in options.ks:
        for preset in options.presets:
            result = jetpy.partition(
                graph,
                k,
                seed=options.seed,
                preset=preset,
                threads=options.threads,
                backend=options.backend,
            )
            digest = hashlib.sha256(result.parts.astype("<i4").tobytes()).hexdigest()[:12]
            hashes[f"{k} {preset}"] = digest
    print(json.dumps(hashes))


if __name__ == "__main__":
    main()
