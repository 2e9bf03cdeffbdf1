"""Tables of cuts: `bench.quality`, `bench.conditions` and components of Jet."""

from __future__ import annotations

from pathlib import Path

from bench.comparisons import cut, ratios, results
from bench.pages.table import Cells
from bench.papers.jet.components import BASELINE, PAPER, VARIANTS
from bench.quality import with_reference
from bench.records import read_records
from bench.tables import mean_text, ratio_text

OTHERS = {
    "jet-sandia": "C++ Jet",
    "pymetis": "METIS",
    "kaminpar": "KaMinPar",
    "mtkahypar": "Mt-KaHyPar (default)",
}
"""Names of the other tools of `bench.quality`."""
CONDITIONS = {
    "plain": "unit weights",
    "vertex": "vertex weights 1 to 100",
    "edge": "edge weights 1 to 97",
    "both": "both",
    "heavy": "a few heavy vertices",
    "degree": "vertex weight = degree",
    "k7": "k = 7",
    "imbalance-0.001": "imbalance 0.1 %",
    "imbalance-0.1": "imbalance 10 %",
}
"""Conditions of `bench.conditions` in the table."""
PEERS = {
    "pymetis/k-way/1": "METIS",
    "kaminpar/default/1": "KaMinPar",
    "mtkahypar/default/1": "Mt-KaHyPar (default)",
}
JETPY = "jetpy/cpu/default/1"


def preset_of(path: Path) -> str:
    """Return the preset of a file of `bench.quality`.

    >>> preset_of(Path("quality-jet-ultra.jsonl"))
    'jet-ultra'
    """
    return path.stem.removeprefix("quality-")


def by_preset(*paths: Path) -> Cells:
    """Return a row per preset: geometric means of its cuts divided by those of other tools.

    The last two paths are files of the reference of `bench.quality`, the others are its own.
    """
    rows = []
    for path in paths[:-2]:
        found = with_reference(read_records(path), paths[-1].parent)
        preset = preset_of(path)
        own = [ratios(found[f"jetpy/{preset}"], found[tool], cut) for tool in OTHERS]
        cases = str(max(map(len, own)))
        rows.append([f"`{preset}`", cases, *(mean_text(each.values()) for each in own)])
    return Cells(["preset", "cases", *OTHERS.values()], rows)


def of_mesh(*paths: Path) -> Cells:
    """Return the cuts of a graph, one column for each file of `bench.quality`."""
    records = {preset_of(path): read_records(path)[-1] for path in paths}
    headers = [f"`{preset}`" for preset in records]
    return Cells(
        ["preset", *headers], [["cut", *(f"{r['median_cut']:,.0f}" for r in records.values())]]
    )


def by_condition(ours: Path, others: Path) -> Cells:
    """Return a row per condition: geometric means of `default`'s cuts over those of the others."""
    found = results([*read_records(ours), *read_records(others)])
    rows = []
    for condition, title in CONDITIONS.items():
        own = {case: record for case, record in found[JETPY].items() if case[1] == condition}
        means = (mean_text(ratios(own, found[peer], cut).values()) for peer in PEERS)
        rows.append([title, str(len(own)), *means])
    return Cells(["condition", "cases", *PEERS.values()], rows)


def of_components(path: Path) -> Cells:
    """Return Table 3 of the paper on Jet, and the same ratios of jetpy's cuts: baseline / variant.

    The file has a record for each variant, graph, k and seed.
    """
    cuts: dict[str, dict[tuple[str, int, int], int]] = {}
    for r in read_records(path):
        cuts.setdefault(r["variant"], {})[r["graph"], r["k"], r["seed"]] = r["cut"]
    baseline = cuts.pop(BASELINE)
    names = [name for name in VARIANTS if name in cuts]
    means = (mean_text(baseline[case] / cut for case, cut in cuts[n].items()) for n in names)
    papers = (ratio_text(PAPER.get(name)).replace("-", "") for name in names)
    return Cells(["", *names], [["paper", *papers], ["jetpy", *means]])
