"""The tables of the documentation by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from bench.pages import cuts, orderings, other, papers, study, times
from bench.pages.table import Table

PEERS = ("peers/peers_cpu_real.csv", "peers/peers_cpu_generated.csv")
CORES = ("2026-11-xeon/cores.jsonl", "2026-11-epyc/cores.jsonl")
MESSAGES = ("2026-11-messages/distributed.jsonl",)
SEVERAL_GPUS = ("2026-11-h200/distributed.jsonl",)


def _orderings(folder: str) -> tuple[str, str]:
    return f"{folder}/orderings-jetpy.jsonl", f"{folder}/orderings.jsonl"


ORDERINGS = _orderings("2026-11-orderings")
PAPERS = (
    *("jet.table1", "jet.fig1", "jet.fig3", "jet.table2", "jet.table6", "jet.table3", "jet.phi"),
    *("jet.table4", "jet.table5"),
    *("gkway.table4", "gkway.fig13", "gkway.fig14", "gkway.table7", "gkway.fig15"),
    *("igkway.table1", "igkway.fig6", "igkway.fig7", "igkway.fig8"),
    *("mapping.fig1", "mapping.table2", "mapping.jet"),
)
"""Experiments of `bench.papers` on a GPU whose numbers can be compared with the paper's."""
MESH_PRESETS = ("gkway", "fast", "default", "ultra", "max")

TABLES: Mapping[str, Table] = {
    "overview": Table(study.overview, (CORES[0], "2026-11-h100-study/performance.csv"), left=3),
    "cuts": Table(
        cuts.by_preset,
        (*(f"2026-11-epyc/quality-{name}.jsonl" for name in ("fast", "default", "ultra")), *PEERS),
    ),
    "cuts-jet": Table(cuts.by_preset, ("2026-11-epyc/quality-jet.jsonl", *PEERS)),
    "conditions": Table(
        cuts.by_condition,
        ("2026-11-epyc/conditions-jetpy.jsonl", "2026-11-epyc/conditions.jsonl"),
    ),
    "presets-on-a-mesh": Table(
        cuts.of_mesh, [f"2026-11-mesh/quality-{name}.jsonl" for name in MESH_PRESETS]
    ),
    "components": Table(cuts.of_components, ["2026-11-epyc/components.jsonl"]),
    "cores": Table(times.by_cores, CORES, left=2),
    "gpu": Table(times.on_gpu, ["2026-11-h100/gpu.jsonl"]),
    "study-jet": Table(study.over_program, ["2026-11-h100-study/performance.csv"]),
    "study-jet-real": Table(study.over_program, ["2026-11-h100-real/performance.csv"]),
    "study-bandwidth": Table(study.by_bandwidth, ["2026-11-h100-study/kernels.csv"]),
    "small": Table(times.on_small_graphs, ["2026-11-epyc/small.jsonl"]),
    "threads": Table(
        times.of_concurrent_calls, ["2026-11-epyc/threads.jsonl", "2026-11-xeon/threads.jsonl"]
    ),
    "mapping": Table(other.of_mapping, ["2026-11-epyc/mapping.jsonl"]),
    "mapping-gpu": Table(other.of_mapping_on_gpu, ["2026-11-mapping-h100/mapping_peer.jsonl"]),
    "changing-graphs": Table(other.of_changing_graphs, ["2026-11-epyc/incremental.jsonl"], left=2),
    "orderings": Table(orderings.by_order, ORDERINGS, left=2),
    "orderings-large": Table(orderings.by_order, _orderings("2026-11-orderings-large"), left=2),
    "orderings-16-threads": Table(orderings.by_order, _orderings("2026-11-orderings-xeon"), left=2),
    "orderings-gpu": Table(orderings.by_size, _orderings("2026-11-orderings-h100"), left=2),
    "messages-cube": Table(partial(other.of_messages, "cube:128"), MESSAGES, left=0),
    "messages-rmat": Table(partial(other.of_messages, "rmat:18:16"), MESSAGES, left=0),
    "cudss": Table(other.of_cudss, ["2026-11-cudss-h200/cudss.jsonl"]),
    "distributed-cpu": Table(other.of_processes, ["2026-11-epyc/distributed.jsonl"]),
    "distributed-gpus-fast": Table(partial(other.of_several_gpus, "fast"), SEVERAL_GPUS),
    "distributed-gpus-default": Table(partial(other.of_several_gpus, "default"), SEVERAL_GPUS),
    "distributed-peers": Table(
        other.of_distributed_peers, ["2026-11-epyc/distributed_peers.jsonl"]
    ),
    **{
        name: Table(papers.of_experiment, [f"2026-11-papers-h100/{name}.csv"], left=2)
        for name in PAPERS
    },
    "mapping.fig2": Table(papers.of_experiment, ["2026-11-papers-epyc/mapping.fig2.csv"], left=2),
}
"""Tables by name."""
