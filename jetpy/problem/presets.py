"""Presets: named combinations of options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import get_args

from jetpy import choices
from jetpy.graph.checks import one_of
from jetpy.problem.options import CoarsenOptions, InitialOptions, Options, RefineOptions

INDEPENDENT_SET = RefineOptions(
    method="independent-set",
    patience=12,
    tolerance=1.0,
    weak_rounds=2,
    coarse_slack=0.0,
    overfill=None,
    flow_sweeps=0,
)
"""Options of independent-set refinement: each move lowers the cut and respects the limits."""
REFINER_DEFAULTS = {"independent-set": INDEPENDENT_SET}
"""Options of refinement methods whose defaults differ from `RefineOptions`."""


@cache
def default() -> Options:
    """Return options for small cuts at good speed: the paper's, with less patience.

    Parts may exceed their limits by 2 % in label propagation. A second hierarchy starts at a coarse
    level, one coarse level has a V-cycle, and every third level has flows.
    """
    return Options()


@cache
def fast() -> Options:
    """Return options with less patience, without second hierarchies, V-cycles and flows."""
    refine = RefineOptions(patience=6, tolerance=0.995, flow_sweeps=0)
    return Options(refine=refine, branches=(), cycles=0)


@cache
def ultra() -> Options:
    """Return options for the smallest cuts: two filter ratios and more effort in all stages."""
    ratios = (75, 25)
    return Options(
        refine=RefineOptions(
            finest_ratios=ratios,
            coarse_ratios=ratios,
            patience=12,
            overfill=5,
            flow_sweeps=3,
            flow_hops=5,
            flow_step=2,
            flow_size=100_000_000,
        ),
        initial=InitialOptions(max_tries=32, parts_tried=1024, max_entries=2_000_000),
        branches=("union-find", "constrained"),
        branch_parts_tried=1024,
        cycle_limit=None,
    )


@cache
def most() -> Options:
    """Return the options of `ultra` for the best of a population of partitions.

    Source: Sanders, Schulz, "Distributed evolutionary graph partitioning", ALENEX 2012.
    """
    return replace(ultra(), generations=16)


@cache
def gkway() -> Options:
    """Return the options of G-kway: union-find, METIS once, independent sets, no V-cycles.

    Source: Lee et al., "G-kway: Multilevel GPU-Accelerated k-way Graph Partitioner using Task
    Graph Parallelism", TODAES 2025, sections 3 and 5.7.
    """
    return Options(
        coarsen=CoarsenOptions(method="union-find", per_part=160, min_shrink=0.9),
        initial=InitialOptions(method="metis", max_tries=1, max_entries=4_000_000),
        refine=INDEPENDENT_SET,
        branches=(),
        cycles=0,
    )


PRESETS: dict[str, Callable[[], Options]] = {
    "default": default,
    "fast": fast,
    "ultra": ultra,
    "max": most,
    "gkway": gkway,
}


def preset(name: str) -> Options:
    """Return the options of a preset.

    Raises
    ------
    OptionError
        If the preset is unknown.
    """
    one_of(PRESETS, "preset", name)
    return PRESETS[name]()


def choose(
    name: choices.Preset,
    coarsening: choices.Coarsening | None,
    refinement: choices.Refinement | None,
) -> Options:
    """Return the options of a preset, with another coarsening or refinement method unless None.

    Another refinement method replaces all refinement options by its defaults.

    Raises
    ------
    OptionError
        If a name is unknown.
    """
    options = preset(name)
    if coarsening is not None:
        one_of(get_args(choices.Coarsening), "coarsening", coarsening)
        options = replace(options, coarsen=replace(options.coarsen, method=coarsening))
    if refinement is not None:
        one_of(get_args(choices.Refinement), "refinement", refinement)
        if refinement != options.refine.method:
            options = replace(
                options, refine=REFINER_DEFAULTS.get(refinement, RefineOptions(method=refinement))
            )
    return options
