"""The sentences of the documentation whose numbers come from the files in `bench/studies`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from statistics import geometric_mean

from bench.comparisons import Case, ratios, seconds
from bench.pages.orderings import over_the_better
from bench.pages.sentences import Sentence
from bench.pages.table import STUDIES, Cells
from bench.pages.tables import CORES, MESSAGES, ORDERINGS, TABLES
from bench.pages.times import KAMINPAR
from bench.records import Record, is_jetpy, read_records
from bench.speedups import METIS, Runs, by_threads, in_group

PERFORMANCE = "docs/performance.md"
XEON, EPYC = CORES


@cache
def table(name: str) -> Cells:
    """Return the headers and rows of a table of the documentation."""
    return TABLES[name].cells(*TABLES[name].paths())


def row_of(name: str, first: str) -> Sequence[str]:
    """Return the row of a table that begins with a text."""
    [row] = [row for row in table(name).rows if row[0] == first]
    return row


def percent_smaller(ratio: str, digits: int = 0) -> str:
    """Return by how many percent something is smaller, given its ratio as a text.

    >>> percent_smaller("0.881"), percent_smaller("0.958", 1)
    ('12', '4.2')
    """
    return f"{100 * (1 - float(ratio)):.{digits}f}"


def rounded(text: str, digits: int) -> str:
    """Return a number with fewer digits.

    >>> rounded("1.318", 1)
    '1.3'
    """
    return f"{float(text):.{digits}f}"


def cuts_over_metis() -> list[str]:
    """Return by how many percent cuts of `default` are smaller than METIS's, and the cases."""
    _, number, _, ratio, *_ = row_of("cuts", "`default`")
    return [percent_smaller(ratio), number]


def over_jet_on_a_gpu() -> list[str]:
    """Return the cases on one H100, times and cuts of both presets, and the worst time."""
    _, number, time, worst, cut, fast_time, fast_worst, fast_cut = row_of("gpu", "all")
    return [
        number,
        *(rounded(time, 2), percent_smaller(cut, 1)),
        *(rounded(fast_time, 2), percent_smaller(fast_cut, 1)),
        rounded(str(max(float(worst), float(fast_worst))), 1),
    ]


def runs_on(path: str) -> Runs:
    """Return the records of a file of `bench.cores`."""
    return by_threads(read_records(STUDIES / path))


def times_over(path: str, preset: str, threads: int, peer: str) -> dict[Case, float]:
    """Return the times of a preset divided by those of KaMinPar, or of METIS on one thread."""
    found = runs_on(path)
    theirs = found[peer][1 if peer == METIS else threads]
    return ratios(found[f"jetpy/cpu/{preset}"][threads], theirs, seconds)


def over_kaminpar_on_16_threads() -> list[str]:
    """Return the mean and the worst time of `default` divided by KaMinPar's on 16 threads."""
    times = times_over(XEON, "default", 16, KAMINPAR).values()
    return [f"{geometric_mean(times):.2f}", f"{max(times):.1f}"]


def over_metis_on_large_graphs() -> list[str]:
    """Return the cases of at least 250,000 vertices, and `default`'s time over METIS's there."""
    cases = runs_on(EPYC)[METIS][1]
    every = times_over(EPYC, "default", 2, METIS)
    times = [time for case, time in every.items() if cases[case]["n"] >= 250_000]
    return [str(len(times)), f"{geometric_mean(times):.2f}"]


def on_graphs_used_for_tuning() -> Iterator[str]:
    """Yield `fast`'s and `default`'s times divided by KaMinPar's on 16 threads, known graphs."""
    for preset in ("fast", "default"):
        times = in_group(times_over(XEON, preset, 16, KAMINPAR), "known")
        yield f"{geometric_mean(times.values()):.2f}"


def speedups_to_16_threads() -> Iterator[str]:
    """Yield the mean speedups from one to 16 threads of `fast`, `default` and KaMinPar.

    The last number is the least speedup of jetpy.
    """
    found, least = runs_on(XEON), []
    for name in ("jetpy/cpu/fast", "jetpy/cpu/default", KAMINPAR):
        speedups = ratios(found[name][1], found[name][16], seconds).values()
        yield f"{geometric_mean(speedups):.1f}"
        if is_jetpy(name):
            least.append(min(speedups))
    yield f"{min(least):.1f}"


def batches() -> list[Record]:
    """Return the records of graphs that change."""
    return read_records(STUDIES / "2026-11-epyc/incremental.jsonl")


def times_of_small_batches() -> list[str]:
    """Return the shortest and the longest mean time of a batch of 50 modifiers in milliseconds."""
    found = [1000 * r["seconds"] for r in batches() if r["modifiers"] == 50]
    return [f"{min(found):.1f}", f"{max(found):.1f}"]


def cuts_of_batches() -> list[str]:
    """Return how often an updated cut is 3 % larger than a new one, of how often, and the worst."""
    found = [
        ours / theirs
        for r in batches()
        if r["modifiers"] <= 500
        for ours, theirs in zip(r["cuts"], r["full_cuts"], strict=True)
    ]
    larger = sum(ratio > 1.03 for ratio in found)
    return [str(larger), str(len(found)), f"{100 * (max(found) - 1):.1f}"]


def totals_of_messages() -> Iterator[str]:
    """Yield the calls and megabytes of a process, for the cube and for the R-MAT graph."""
    for record in read_records(STUDIES / MESSAGES[0]):
        yield f"{record['calls']:,}"
        yield f"{record['sent_bytes'] / 1e6:.0f}"


def operations_of_orderings() -> list[str]:
    """Return jetpy's threads, the matrices of half B, and operations over METIS and AMD."""
    return over_the_better([STUDIES / file for file in ORDERINGS])


SENTENCES: Sequence[Sentence] = (
    Sentence(
        "README.md",
        "jetpy's cuts are {} % smaller than METIS's (geometric mean of {} cases",
        cuts_over_metis,
    ),
    Sentence(
        "README.md",
        "on one H100 ({} cases, upload included), `default` takes {} times as long with {} % "
        "smaller cuts, and `fast` {} times as long with {} % smaller cuts. The worst case takes {} "
        "times as long.",
        over_jet_on_a_gpu,
    ),
    Sentence(
        "README.md",
        "on 16 threads, `default` takes {} times as long on average, but up to {} times as long.",
        over_kaminpar_on_16_threads,
    ),
    Sentence(
        PERFORMANCE,
        "On the graphs of 250,000 vertices or more ({} cases), `default` on two threads of the "
        "EPYC takes {} times as long as METIS on one.",
        over_metis_on_large_graphs,
    ),
    Sentence(
        PERFORMANCE,
        "On these six, `fast` and `default` take {} and {} times as long as KaMinPar on "
        "16 threads.",
        on_graphs_used_for_tuning,
    ),
    Sentence(
        PERFORMANCE,
        "From one to 16 threads, `fast` gets {} times as fast, `default` {} times and KaMinPar {} "
        "times. The least speedup of jetpy is {}.",
        speedups_to_16_threads,
    ),
    Sentence(
        PERFORMANCE,
        "A batch of 50 took {} to {} ms.",
        times_of_small_batches,
    ),
    Sentence(
        PERFORMANCE,
        "the cut was more than 3 % larger than a new partition's in {} of {} comparisons, and at "
        "most {} % larger.",
        cuts_of_batches,
    ),
    Sentence(
        PERFORMANCE,
        "jetpy had {} threads, the other tools one. On the {} matrices of half B, `fast`, "
        "`default` and `best` need {}, {} and {} times the operations of the better of METIS and "
        "AMD.",
        operations_of_orderings,
    ),
    Sentence(
        "docs/scaling.md",
        "The totals are {} calls and {} MB for the cube, and {} calls and {} MB for the R-MAT "
        "graph.",
        totals_of_messages,
    ),
)
"""Sentences in the order of the pages. If the words of one change, change them here as well."""
