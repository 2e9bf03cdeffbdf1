"""Tables of mapping, of graphs that change, and of other distributed partitioners."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import cudss, distributed, distributed_peers, mapping_peer
from bench.pages.table import Cells
from bench.records import Record, read_records
from bench.tables import mean_text, ratio_text

BETTER = "better peer"
"""In each case that mtkahypar and scotch have, the record with the lower cost."""
MAPPING_PEERS = {
    "jetpy/hm-ultra": "`hm-ultra`",
    "mtkahypar": "Mt-KaHyPar",
    "scotch": "Scotch",
    BETTER: "better of both",
}

GRAPHS = {"cube:128": "cube of side 128", "rmat:18:16": "R-MAT graph of scale 18"}
GPU_GRAPHS = {
    "cube:200": "cube of side 200",
    "cube:400": "cube of side 400",
    "cube:560": "cube of side 560",
    "cube:1000": "cube of side 1,000",
    "delaunay4M": "Delaunay, 4 million",
    "geometric4M": "geometric, 4 million",
    "rmat20": "R-MAT, scale 20",
    "rmat23": "R-MAT, scale 23",
}
GPU_HEADERS = [
    *("graph", "one GPU, s", "two, s", "two / one", "four, s", "four / one"),
    *("GiB: one", "two", "four"),
]
CHANGING_HEADERS = [
    *("modifiers", "ends", "cases", "speedup", "with > 500,000 vertices", "cut / full"),
]
PRESETS = ("default", "fast")
PEERS = {"parmetis": "ParMETIS", "ptscotch": "PT-Scotch", "parhip": "ParHIP"}
LEVEL_HEADERS = [
    *("vertices", "edges", "ghosts", "coarsening: calls", "MB"),
    *("iterations", "refinement: calls", "MB"),
]


def of_mapping(path: Path) -> Cells:
    """Return a row per method: geometric means of cost and time over those of the columns."""
    cases: dict[str, dict[Any, Record]] = {}
    for record in read_records(path):
        cases.setdefault(record["method"], {})[record["graph"], record["hierarchy"]] = record
    first, second = cases["mtkahypar"], cases["scotch"]
    cases[BETTER] = {
        case: min(first[case], second[case], key=lambda record: float(record["median_cost"]))
        for case in first.keys() & second.keys()
    }
    rows = []
    for method in ("im", "hm", "hm-ultra"):
        row, ours = [f"`{method}`"], cases.get(f"jetpy/{method}", {})
        for peer in MAPPING_PEERS:
            theirs = cases.get(peer, {})
            for quantity in ("median_cost", "median_seconds"):
                common = [case for case in ours if _has_costs(case, ours, theirs)]
                ratios = (ours[case][quantity] / theirs[case][quantity] for case in common)
                row.append(mean_text(ratios))
        rows.append(row)
    headers = [h for title in MAPPING_PEERS.values() for h in (f"{title}: cost", "time")]
    return Cells(["method", *headers], rows)


def _has_costs(case: Any, *methods: Mapping[Any, Record]) -> bool:
    """Return whether all methods have a case, with costs that are not 0."""
    return all(case in own and own[case]["median_cost"] for own in methods)


def of_mapping_on_gpu(path: Path) -> Cells:
    """Return a row per method: geometric means of cost and time over those of GPU-HeiProMap."""
    records = read_records(path)
    rows = []
    for method in mapping_peer.NAMES:
        own = [record for record in records if record["method"] == method]
        cost, seconds = mapping_peer.means(own)
        rows.append([f"`{method}`", str(len(own)), f"{cost:.2f}", f"{seconds:.2f}"])
    return Cells(["method", "graphs", "cost", "time"], rows)


def of_changing_graphs(path: Path) -> Cells:
    """Return a row per size of a batch: speed-up over, and cut divided by, a new partition's."""
    rows = []
    records = read_records(path)
    for modifiers, near in sorted({(r["modifiers"], r["near"]) for r in records}):
        own = [r for r in records if (r["modifiers"], r["near"]) == (modifiers, near)]
        speedups = [r["full_seconds"] / r["seconds"] for r in own]
        large = [s for s, r in zip(speedups, own, strict=True) if r["n"] > 500_000]
        cuts = [a / b for r in own for a, b in zip(r["cuts"], r["full_cuts"], strict=True) if b]
        means = mean_text(speedups, 1), mean_text(large, 1), mean_text(cuts)
        rows.append([str(modifiers), "near" if near else "anywhere", str(len(own)), *means])
    return Cells(CHANGING_HEADERS, rows)


def of_processes(path: Path) -> Cells:
    """Return a row per graph: time of two processes of one thread over that of two threads."""
    found = {
        (r["case"], r["processes"], r["threads"]): r
        for r in distributed.compared(read_records(path))
    }
    rows = []
    for graph, title in GRAPHS.items():
        records = (found[f"{graph}, k = 64, {preset}", 2, 1] for preset in PRESETS)
        rows.append([title, *(f"{r['seconds'] / r['single_seconds']:.2f}" for r in records)])
    return Cells(["graph", *(f"`{preset}`" for preset in PRESETS)], rows)


def of_several_gpus(preset: str, path: Path) -> Cells:
    """Return a row per graph: seconds of one, two and four GPUs, and the GiB of their pools."""
    cases: dict[str, dict[int, Record]] = {}
    for record in distributed.compared(read_records(path)):
        graph, _, own = record["case"].split(", ")
        if own == preset:
            cases.setdefault(graph, {})[record["processes"]] = record
    return Cells(GPU_HEADERS, [_row_of_gpus(graph, sizes) for graph, sizes in cases.items()])


def _row_of_gpus(graph: str, sizes: Mapping[int, Record]) -> list[str]:
    """Return the row of a graph, given its records by number of GPUs."""
    four = sizes[4]
    one, pool = four.get("single_seconds"), four.get("single_pool")
    seconds, pools = [ratio_text(one)], [ratio_text(pool, 1)]
    for size in (2, 4):
        record = sizes.get(size)
        ratio = None if record is None or one is None else record["seconds"] / one
        seconds += [ratio_text(record and record["seconds"]), ratio_text(ratio, 2)]
        pools.append(ratio_text(record and record["pool"], 1))
    return [GPU_GRAPHS[graph], *seconds, *pools]


def of_cudss(path: Path) -> Cells:
    """Return a row per ordering and form in which cuDSS gets it."""
    return Cells(cudss.HEADERS, cudss.rows_of(read_records(path)))


def of_messages(graph: str, path: Path) -> Cells:
    """Return a row per level in pieces: the traffic of a process of two, with `fast`, k = 64."""
    (*_, record) = (
        r for r in distributed.compared(read_records(path)) if r["case"] == f"{graph}, k = 64, fast"
    )
    return Cells(LEVEL_HEADERS, record["levels"])


def of_distributed_peers(path: Path) -> Cells:
    """Return a row per program: cuts and times of jetpy's presets over its own, two processes."""
    means = distributed_peers.mean_rows(distributed_peers.results(read_records(path)))
    rows = [
        [PEERS[tool], f"{balanced} of {cases}", fast_cut, fast_time, cut, time]
        for tool, processes, cases, balanced, _, cut, time, fast_cut, fast_time in means
        if tool in PEERS and processes == "2"
    ]
    return Cells(["program", "balanced", "`fast`: cut", "time", "`default`: cut", "time"], rows)
