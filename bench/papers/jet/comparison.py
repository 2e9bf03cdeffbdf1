"""Jet compared with other partitioners: cuts (Table 1, Figures 1 and 2) and time (3 and 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from bench.instances import Instance
from bench.papers.classes import all_row, class_rows
from bench.papers.experiment import PEER_MISSING, Cell, Values, experiment
from bench.papers.jet.partitioners import (
    CONFIGURATIONS,
    JET,
    NEEDS,
    OTHERS,
    Case,
    configurations,
    mean,
    measured,
)
from bench.papers.setting import Setting, median_cut, median_seconds, or_missing
from jetpy.study.metrics import efficiencies, factors

CUT_FACTORS = ("1.00", "1.01", "1.02", "1.05", "1.10", "1.20", "1.50", "2.00")
TIME_FACTORS = ("1", "2", "5", "10", "20", "50")
"""Rows of the profiles: bounds on a partitioner's number over the best of the case."""
CASES = "cases"
QUICK_GRAPHS = 1
"""Number of graphs for the six configurations in a quick run."""


@experiment("jet.table1", NEEDS, 60)
def table1(setting: Setting) -> Values:
    """Return the mean cuts of other partitioners over Jet's, by configuration (section 6.1.1)."""
    instances = few(setting)
    values: dict[Cell, float | str] = {
        (name, configuration): or_missing(
            partial(_cut_ratio, setting, name, instances, [configuration]), PEER_MISSING
        )
        for name in OTHERS
        for configuration in CONFIGURATIONS
    }
    return {**values, **{(CASES, name): len(instances) for name in CONFIGURATIONS}}


@experiment("jet.fig1", NEEDS, 60)
def figure1(setting: Setting) -> Values:
    """Return the performance profiles of cuts (section 6.1).

    A row is a factor, and a column has the share of cases in which a partitioner's cut is within
    this factor of the smallest. The last rows have the share in which Jet's cut is smaller than
    that of one other partitioner, and the number of cases.
    """
    found = measured(setting, median_cut, setting.instances, configurations(setting))
    return {**profiles(found, CUT_FACTORS), **wins(found, {"Jet's cut is smaller": 1})}


@experiment("jet.fig2", NEEDS, 60)
def figure2(setting: Setting) -> Values:
    """Return cuts by class: the means over Jet's, and the shares of the smallest (section 6.1.2).

    In a column "best", the share counts the cases in which no other partitioner has a smaller cut.
    """
    names = configurations(setting)

    def ratio(name: str, instances: list[Instance]) -> float | str:
        return or_missing(partial(_cut_ratio, setting, name, instances, names), PEER_MISSING)

    def best(name: str, instances: list[Instance]) -> float | str:
        found = measured(setting, median_cut, instances, names)
        return profiles(found, ["1"])["1", name]

    ratios = {f"{name} / {JET}": partial(ratio, name) for name in OTHERS}
    shares = {f"{name} best": partial(best, name) for name in (JET, *OTHERS)}
    return class_rows(setting.instances, {**ratios, **shares})


@experiment("jet.fig3", f"{NEEDS}; a GPU for jetpy, as in the paper", 60)
def figure3(setting: Setting) -> Values:
    """Return the performance profiles of time (section 6.2), as `figure1` those of cuts."""
    found = measured(setting, median_seconds, setting.instances, configurations(setting))
    faster = {"Jet is faster": 1, **{f"Jet is {x} times as fast": x for x in (2, 10, 20)}}
    return {**profiles(found, TIME_FACTORS), **wins(found, faster)}


@experiment("jet.fig4", f"{NEEDS}; a GPU for jetpy, as in the paper", 60)
def figure4(setting: Setting) -> Values:
    """Return the mean seconds of partitioning by class and by configuration (section 6.2)."""

    def seconds(name: str, chosen: Iterable[str], instances: list[Instance]) -> float | str:
        return or_missing(
            partial(mean, setting, median_seconds, instances, chosen, name), PEER_MISSING
        )

    names = (JET, *OTHERS)
    columns = {name: partial(seconds, name, configurations(setting)) for name in names}
    values = dict(class_rows(setting.instances, columns))
    for configuration in CONFIGURATIONS:
        own = {name: partial(seconds, name, [configuration]) for name in names}
        values |= all_row(configuration, few(setting), own)
    return values


def few(setting: Setting) -> list[Instance]:
    """Return all graphs; in a quick run, the first ones."""
    return setting.instances[: QUICK_GRAPHS if setting.quick else None]


def profiles(
    found: Mapping[str, Mapping[Case, float]], bounds: Iterable[str]
) -> dict[Cell, float | str]:
    """Return the share of cases in which each partitioner is within each factor of the best."""
    cases = list(found[JET])
    ratios = {name: factors(own.values()) for name, own in efficiencies(found, cases).items()}
    return {
        (bound, name): (
            sum(ratio <= float(bound) for ratio in ratios[name]) / len(cases)
            if name in ratios
            else PEER_MISSING
        )
        for bound in bounds
        for name in (JET, *OTHERS)
    }


def wins(
    found: Mapping[str, Mapping[Case, float]], rows: Mapping[str, float]
) -> dict[Cell, float | str]:
    """Return the share of cases in which another's number is above a multiple of Jet's.

    The last row has the number of cases.
    """
    values: dict[Cell, float | str] = {}
    jet = found[JET]
    for name in OTHERS:
        for row, multiple in rows.items():
            values[row, name] = PEER_MISSING
            if name in found:
                above = [theirs > multiple * jet[case] for case, theirs in found[name].items()]
                values[row, name] = sum(above) / len(above)
        values[CASES, name] = len(found[name]) if name in found else PEER_MISSING
    return values


def _cut_ratio(
    setting: Setting, name: str, instances: Iterable[Instance], chosen: Iterable[str]
) -> float:
    """Return the geometric mean of a partitioner's median cuts over that of Jet's."""
    theirs, ours = (mean(setting, median_cut, instances, chosen, each) for each in (name, JET))
    return theirs / ours


EXPERIMENTS = [table1, figure1, figure2, figure3, figure4]
