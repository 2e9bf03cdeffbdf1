"""Tables and a figure that compare partitioners with METIS on small graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

from bench.pareto import Point, draw
from bench.records import Record
from bench.small_cases import CLASSES, HALVES, KS, classes_of
from bench.tables import mean_text, ratio_text, show

METIS = "metis"
ALL = "all"
COLUMNS = ("number", "time", "wall", "cut")
DELAUNAY = ("del1k", "del4k", "del10k", "del40k")


@dataclass(frozen=True)
class Comparison:
    """Results of a tool for a graph and k, with those of METIS from the same measurement.

    `own` and `metis` have the fields cpu_seconds, seconds, cut and above_limit, see `bench.small`.
    """

    half: str
    cls: str
    graph: str
    n: int
    k: int
    seeds: int
    own: Record
    metis: Record

    @property
    def time(self) -> float:
        """Processor time divided by METIS's."""
        return float(self.own["cpu_seconds"] / self.metis["cpu_seconds"])

    @property
    def wall(self) -> float:
        """Wall time divided by METIS's."""
        return float(self.own["seconds"] / self.metis["seconds"])

    @property
    def cut(self) -> float | None:
        """Mean cut divided by METIS's; None if one of them is 0."""
        own, metis = self.own["cut"], self.metis["cut"]
        return own / metis if own and metis else None


Case = tuple[str, int]
"""Graph and number of parts."""
Comparisons = Mapping[str, Mapping[Case, Comparison]]
"""The last comparison of each tool, METIS included, by case."""


def comparisons(records: Iterable[Record]) -> Comparisons:
    """Return the last result of each tool and case, in the order of halves, graphs and k."""
    found: dict[str, dict[Case, Comparison]] = {}
    for record in records:
        case = record["graph"], record["k"]
        for tool, own in record["tools"].items():
            found.setdefault(tool, {})[case] = Comparison(
                half=record["half"],
                cls=record["class"],
                graph=record["graph"],
                n=record["n"],
                k=record["k"],
                seeds=record["seeds"],
                own=own,
                metis=record["tools"][METIS],
            )
    names = [name for half in HALVES for name in classes_of(half)]
    return {
        tool: dict(sorted(own.items(), key=lambda item: (names.index(item[0][0]), item[0][1])))
        for tool, own in found.items()
    }


def others(found: Comparisons) -> list[str]:
    """Return the names of all tools except METIS."""
    return [tool for tool in found if tool != METIS]


def short(tool: str) -> str:
    """Return the name of a tool in headers.

    >>> short("jetpy/cpu/fast"), short("kaminpar")
    ('cpu/fast', 'kaminpar')
    """
    return tool.removeprefix("jetpy/")


def means(chosen: Sequence[Comparison]) -> list[str]:
    """Return the geometric means of processor time, wall time and cut divided by METIS's."""
    return [
        mean_text(own.time for own in chosen),
        mean_text(own.wall for own in chosen),
        mean_text(own.cut for own in chosen),
    ]


def case_rows(found: Comparisons, chosen: Callable[[Comparison], bool]) -> list[list[str]]:
    """Return a row per chosen case: METIS's milliseconds and cut, and the ratios of each tool."""
    rows = []
    for case, base in found.get(METIS, {}).items():
        if chosen(base):
            row = [base.half, base.graph, base.cls, f"{base.n:,}", str(base.k)]
            row += [f"{1000 * base.metis['cpu_seconds']:.2f}", f"{base.metis['cut']:,.1f}"]
            rows.append(row + [ratios_text(found[tool].get(case)) for tool in others(found)])
    return rows


def ratios_text(own: Comparison | None) -> str:
    """Format the ratios of processor time and cut."""
    return "-" if own is None else f"{own.time:.3f}; {ratio_text(own.cut)}"


def groups() -> Iterator[tuple[str, Callable[[Comparison], bool]]]:
    """Yield the groups of cases: all, those of each k, and those of each class."""
    yield ALL, lambda own: True
    for k in KS:
        yield f"k = {k}", lambda own, k=k: own.k == k  # type: ignore[misc]
    for cls in CLASSES:
        yield cls, lambda own, cls=cls: own.cls == cls  # type: ignore[misc]


def mean_rows(cases: Mapping[Case, Comparison]) -> list[list[str]]:
    """Return a row per group: for each half, the number of cases and the means of a tool."""
    rows = []
    for name, belongs in groups():
        row = [name]
        for half in HALVES:
            chosen = [own for own in cases.values() if own.half == half and belongs(own)]
            row += [str(len(chosen)), *means(chosen)]
        rows.append(row)
    return rows


def worst(chosen: Iterable[Comparison], ratio: Callable[[Comparison], float | None]) -> str:
    """Return the largest mean ratio of the cases with the same k and class, with these."""
    values: dict[tuple[int, str], list[float]] = {}
    for own in chosen:
        if (value := ratio(own)) is not None:
            values.setdefault((own.k, own.cls), []).append(value)
    found = [(geometric_mean(ratios), k, cls) for (k, cls), ratios in values.items()]
    return "{:.3f} (k = {}, {})".format(*max(found)) if found else "-"


def worst_rows(found: Comparisons) -> list[list[str]]:
    """Return a row per tool and half: the worst k and class, and the results above the limit."""
    rows = []
    for tool, cases in found.items():
        for half in HALVES:
            chosen = [own for own in cases.values() if own.half == half]
            if chosen:
                above = sum(own.own["above_limit"] for own in chosen)
                runs = sum(own.seeds for own in chosen)
                largest = ["-", "-"]
                if tool != METIS:
                    largest = [worst(chosen, lambda o: o.time), worst(chosen, lambda o: o.cut)]
                rows.append([short(tool), half, *largest, f"{above} of {runs}"])
    return rows


def without_ratio(found: Comparisons) -> list[str]:
    """Return the cases with a cut of 0, which the means of cuts leave out."""
    return [
        f"{graph} k={k} ({tool} {own.own['cut']:g}, {METIS} {own.metis['cut']:g})"
        for tool in others(found)
        for (graph, k), own in found[tool].items()
        if own.cut is None
    ]


def points(found: Comparisons, half: str) -> tuple[int, list[Point]]:
    """Return the number of cases of a half that all tools solved, and the means of each tool."""
    solved = [{case for case, own in cases.items() if own.cut} for cases in found.values()]
    common = {case for case in set.intersection(*solved) if found[METIS][case].half == half}
    return len(common), [
        Point(
            tool,
            geometric_mean(cases[case].time for case in common),
            geometric_mean(cases[case].cut or 1.0 for case in common),
        )
        for tool, cases in found.items()
        if common
    ]


def draw_front(found: Comparisons, file: Path) -> bool:
    """Draw time and cut over METIS's, one panel per half. Without common cases, return False."""
    counted = [(half, *points(found, half)) for half in HALVES]
    panels = [(f"half {half}, {number} cases", own) for half, number, own in counted if own]
    if panels:
        draw(panels, METIS, [file])
    return bool(panels)


def summarise(found: Comparisons, markdown: bool) -> None:
    """Print all tables."""
    headers = ["half", "graph", "class", "n", "k", "METIS ms", "cut", *map(short, others(found))]
    about = "METIS's processor milliseconds and cut; processor time and cut divided by METIS's"
    for title, chosen in (
        (about, lambda own: True),
        (f"Delaunay graphs, k = 8: {about}", lambda own: own.k == 8 and own.graph in DELAUNAY),
    ):
        show(title, headers, case_rows(found, chosen), left=3, markdown=markdown)
    headers = ["cases", *(f"{half}: {name}" for half in HALVES for name in COLUMNS)]
    for tool in others(found):
        title = f"{short(tool)}: geometric means over METIS, processor time, wall time and cut"
        show(title, headers, mean_rows(found[tool]), markdown=markdown)
    show(
        "largest geometric mean of a class and k, and results above the limit",
        ["tool", "half", "processor time", "cut", "above the limit"],
        worst_rows(found),
        left=2,
        markdown=markdown,
    )
    if skipped := without_ratio(found):
        print("\nCases without a ratio of cuts:", *skipped, sep="\n  ")
