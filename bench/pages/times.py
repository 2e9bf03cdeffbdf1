"""Tables of times: `bench.cores`, `bench.small`, `bench.threads` and `bench.gpu`."""

from __future__ import annotations

from pathlib import Path

from bench import small, threads
from bench.comparisons import cut, ratios, seconds
from bench.gpu import groups_of, results_of
from bench.pages.table import Cells
from bench.records import read_records
from bench.speedups import METIS, Runs, by_threads
from bench.tables import mean_text, ratio_text

KAMINPAR = "kaminpar/default"
PRESETS = ("fast", "default")
GROUPS = {
    "ten": "large graphs",
    "generated": "other generated graphs",
    "real": "real graphs",
    "finite elements": "matrices of finite elements",
}
"""Titles of the groups of cases of `bench.gpu --peer`."""


def cores_cells(found: Runs, preset: str, count: int, peer: str) -> list[str]:
    """Return geometric means of time and cut of `bench.cores` divided by those of a peer.

    METIS has one thread, KaMinPar the same number as jetpy.
    """
    ours = found[f"jetpy/cpu/{preset}"][count]
    theirs = found[peer][1 if peer == METIS else count]
    return [mean_text(ratios(ours, theirs, of).values(), 2) for of in (seconds, cut)]


def by_cores(xeon: Path, epyc: Path) -> Cells:
    """Return a row per machine, number of threads and preset: time and cut over the peers'."""
    rows = []
    for machine, path, counts in (("Xeon", xeon, (16, 1)), ("EPYC", epyc, (2, 1))):
        found = by_threads(read_records(path))
        for count in counts:
            for preset in PRESETS:
                kaminpar, metis = (
                    cores_cells(found, preset, count, peer) for peer in (KAMINPAR, METIS)
                )
                rows.append([f"{count} ({machine})", f"`{preset}`", *kaminpar, *metis])
    headers = ["threads", "preset", "KaMinPar: time", "cut", "METIS: time", "cut"]
    return Cells(headers, rows)


def on_small_graphs(path: Path) -> Cells:
    """Return a row per group of cases of half B: their number, and the means of each preset."""
    found = small.results(read_records(path))
    default, fast = (
        small.mean_rows(found[f"jetpy/cpu/{preset}"].values(), "B") for preset in reversed(PRESETS)
    )
    rows = [[*own, *other[2:]] for own, other in zip(default, fast, strict=True)]
    headers = ["`default`: time", "cut", "`fast`: time", "cut"]
    return Cells(["cases", "number", *headers], rows)


def of_concurrent_calls(*paths: Path) -> Cells:
    """Return the ratios of `bench.threads`, one column for each file."""
    records = [read_records(path)[-1] for path in paths]
    headers = [f"{record['processors']} processors" for record in records]
    columns = [threads.ratios(record) for record in records]
    names = sorted({name for own in columns for name in own}, key=lambda name: int(name.split()[0]))
    return Cells(
        ["", *headers], [[name, *(own.get(name, "") for own in columns)] for name in names]
    )


def on_gpu(path: Path) -> Cells:
    """Return a row per group and half of the cases: time and cut over the C++ Jet's, worst time."""
    rows = []
    for group, members in groups_of(results_of(read_records(path))).items():
        cases = len({result.case for result in members})
        row = [GROUPS.get(group, group), str(cases)]
        for preset in reversed(PRESETS):
            own = [result.ratios for result in members if result.tool.endswith(f" {preset}")]
            times, _, cuts = zip(*own, strict=True)
            worst = max(time for time in times if time is not None)
            row += [mean_text(times), ratio_text(worst), mean_text(cuts)]
        rows.append(row)
    headers = ["cases", "number", "`default`: time", "worst", "cut", "`fast`: time", "worst", "cut"]
    return Cells(headers, rows)
