"""Presets: named combinations of options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, get_args

from jetpy import choices
from jetpy.errors import OptionError
from jetpy.graph.checks import one_of
from jetpy.problem.options import (
    CoarsenOptions,
    IncrementalOptions,
    InitialOptions,
    Options,
    RefineOptions,
    SmallOptions,
)

MAX_SMALL = 50_000
"""Maximum number of vertices of small graphs."""
TASK_SIZE = 20_000
"""Maximum number of vertices and directed edges of levels that tasks partition."""
COMMUNITIES = 20_000
"""Maximum number of vertices of levels whose communities are found."""
AS_PUBLISHED = RefineOptions(
    coarse_ratios=(75,),
    patience=12,
    extra_patience=False,
    coarse_tolerance=None,
    weak_rounds=2,
    strong_fill="average",
    check_room=False,
    coarse_slack=0.0,
    overfill=None,
    level_step=1,
    flow_sweeps=0,
)
"""Options of refinement as in the paper on Jet (`jet`)."""
INDEPENDENT_SET = RefineOptions(
    method="independent-set",
    patience=12,
    tolerance=1.0,
    coarse_tolerance=None,
    weak_rounds=2,
    coarse_slack=0.0,
    overfill=None,
    level_step=1,
    flow_sweeps=0,
)
"""Options of independent-set refinement: each move lowers the cut and respects the limits."""
IGKWAY_UPDATES = IncrementalOptions(
    tries=1, max_degree=None, refine_after=None, repartition_after=None, max_drift=None
)
"""Options of updates as in iG-kway (DAC 2025, section V): every vertex may move, and the whole
partition is refined only if a part is above its limit."""
MAPPING_METHODS: dict[str, choices.Preset] = {"im": "default", "hm": "default", "hm-ultra": "ultra"}
"""Preset of each mapping method."""
MAPPING_PATIENCE = 12
"""Patience for mapping."""
INTEGRATED_PATIENCE, CUT_SHARE = 6, 0.02
"""Further values for integrated mapping, whose tolerance is the same on all levels. Both `im` and
`hm` have no V-cycles and branches."""
CUSTOM = "custom"
"""Name of options that are not those of a preset."""
REFINER_DEFAULTS = {"independent-set": INDEPENDENT_SET}
"""Options of refinement methods whose defaults differ from `RefineOptions`."""


@cache
def default() -> Options:
    """Return options for small cuts at good speed.

    They differ from Jet's (`jet`) in all stages, which `differences` lists. Irregular graphs are
    coarsened within communities. Tasks partition a coarse level like a small graph, ten times; the
    best partition continues. Parts may exceed their limits by 5 % in label propagation. Every
    second level is refined, with flows. If tasks cannot partition the coarsest level and coarsening
    is slow, a second hierarchy starts at a coarse level. If the core of a network is in several
    parts, the finest level is refined again from a start with the core in one part.
    """
    return Options(
        coarsen=CoarsenOptions(communities=COMMUNITIES),
        initial=InitialOptions(max_tries=10, parts_tried=160, task_size=TASK_SIZE),
        small=SmallOptions(
            max_vertices=MAX_SMALL,
            coarsest=60,
            middle=2000,
            middle_per_part=125,
            min_tries=2,
            max_tries=5,
            vertices_per_try=1600,
            bisections=2,
            communities=COMMUNITIES,
            cycles=1,
            flow_levels=2,
            hops=3,
        ),
        gathers_core=True,
    )


@cache
def fast() -> Options:
    """Return options with less patience, without second hierarchies, V-cycles and flows."""
    refine = RefineOptions(patience=6, flow_sweeps=0)
    small = SmallOptions(max_vertices=MAX_SMALL, per_part=20)
    return Options(refine=refine, small=small, branches=(), gathers_core=True)


@cache
def ultra() -> Options:
    """Return options for the smallest cuts: two filter ratios and more effort in all stages.

    Irregular graphs are coarsened within communities, as by `default`.
    """
    ratios = (75, 25)
    return Options(
        coarsen=CoarsenOptions(communities=COMMUNITIES),
        refine=RefineOptions(
            finest_ratios=ratios,
            coarse_ratios=ratios,
            patience=12,
            coarse_tolerance=None,
            level_step=1,
            flow_sweeps=3,
            flow_hops=5,
            flow_step=2,
            flow_size=100_000_000,
        ),
        initial=InitialOptions(max_tries=32, parts_tried=1024, max_entries=2_000_000),
        branches=("union-find", "constrained"),
        branch_shrink=0.0,
        branch_parts_tried=1024,
        cycles=1,
        cycle_limit=None,
        gathers_core=True,
    )


@cache
def most() -> Options:
    """Return the options of `ultra` for the best of a population of partitions.

    Source: Sanders, Schulz, "Distributed evolutionary graph partitioning", ALENEX 2012.
    """
    return replace(ultra(), generations=16)


@cache
def jet() -> Options:
    """Return the options of Jet, as published.

    Source: Gilbert et al., "Jet: Multilevel Graph Partitioning on Graphics Processing Units",
    SISC 2024. Sections: 3 (the coarsest graph has 4 k to 8 k vertices, and METIS partitions it by
    its k-way method), 3.1 (heavy-edge matching; two-hop matching above 25 % unmatched vertices), 4
    (patience 12, phi = 0.999), 4.1.2 (c = 0.25 on the finest level, 0.75 on others), 4.2.2 (two
    weak rebalancing iterations, then strong ones).
    """
    return Options(
        coarsen=CoarsenOptions(
            rating="weight", light_edges=True, bounded=False, dense=None, coarsest="jet"
        ),
        initial=InitialOptions(method="metis-kway", max_tries=1, max_entries=None),
        refine=AS_PUBLISHED,
        branches=(),
    )


@cache
def jet_ultra() -> Options:
    """Return the options of Jet's configuration ULTRA: `jet` with 18 refinement loops on a level.

    Source: Samoldekin, Schulz, Woydt, "GPU-Accelerated Algorithms for Process Mapping", 2025,
    section 5.1: ULTRA "executes the complete refinement algorithm 18 times". The filter ratios are
    not in the paper. The programs of Jet and of that paper have 17, from 85 % down to 5 % in steps
    of 5 %; here, 90 % is the first of 18.
    """
    ratios = tuple(range(90, 0, -5))
    return jet().changed({"refine.finest_ratios": ratios, "refine.coarse_ratios": ratios})


@cache
def gkway_journal() -> Options:
    """Return the options of the journal version of G-kway: `gkway`, but coarsening to 160 k.

    Source: Lee et al., "G-kway: Multilevel GPU-Accelerated k-way Graph Partitioner using Task
    Graph Parallelism", TODAES 2025, sections 3 and 5.7.
    """
    return gkway().changed({"coarsen.coarsest": "per-part", "coarsen.per_part": 160})


@cache
def gkway() -> Options:
    """Return the options of G-kway: union-find, METIS once, independent sets.

    Source: Lee et al., "G-kway: Multilevel GPU-Accelerated k-way Graph Partitioner", DAC 2024.
    Sections: 3 and 4.1 (coarsening ends at |V| / (20 log2 k) vertices; METIS partitions the
    coarsest graph), 3.1 (union-find coarsening with scores), 3.2 (independent sets of moves).
    """
    return Options(
        coarsen=CoarsenOptions(method="union-find", coarsest="finest-share", min_shrink=0.9),
        initial=InitialOptions(method="metis", max_tries=1, max_entries=None),
        refine=INDEPENDENT_SET,
        branches=(),
    )


@cache
def igkway() -> Options:
    """Return the options of the full partitions of iG-kway: groups of six, coarsening to 35 k.

    Source: Lee et al., "iG-kway: Incremental k-way Graph Partitioning on GPU", DAC 2025, sections
    IV (constrained coarsening) and VI (group size six; coarsening ends below 35 k vertices, or when
    "fewer than 90% of the vertices could be coarsened": here, before a level with more than 90 % of
    the vertices of the previous one).
    """
    return gkway().changed(
        {"coarsen.method": "constrained", "coarsen.coarsest": "per-part", "coarsen.per_part": 35}
    )


PRESETS: dict[str, Callable[[], Options]] = {
    "default": default,
    "fast": fast,
    "ultra": ultra,
    "max": most,
    "jet": jet,
    "jet-ultra": jet_ultra,
    "gkway": gkway,
    "gkway-journal": gkway_journal,
    "igkway": igkway,
}


def preset(name: str) -> Options:
    """Return the options of a preset.

    >>> import jetpy
    >>> jetpy.preset("jet").refine.patience
    12

    Raises
    ------
    OptionError
        If the preset is unknown.
    """
    one_of(PRESETS, "preset", name)
    return PRESETS[name]()


def incremental_options(
    name: choices.Preset, options: IncrementalOptions | Mapping[str, Any] | None = None
) -> IncrementalOptions:
    """Return the options of incremental partitioning of a preset, with changes, or all `options`.

    Raises
    ------
    OptionError
        If `options` is of another type, a name is unknown, or a value is out of range.
    """
    if isinstance(options, IncrementalOptions):
        return options
    own = IGKWAY_UPDATES if name == "igkway" else IncrementalOptions()
    return own if options is None else own.changed(options)


def mapping_options(method: str, options: Options | Mapping[str, Any] | None = None) -> Options:
    """Return the options of a mapping method, with changes by name, or all `options`.

    Raises
    ------
    OptionError
        If the method or an option is unknown, or a value is out of range.
    """
    one_of(MAPPING_METHODS, "method", method)
    if isinstance(options, Options):
        return options
    own: dict[str, Any] = {"refine.patience": MAPPING_PATIENCE}
    if method != "hm-ultra":
        own |= {"branches": (), "cycles": 0}
    if method == "im":
        own |= {"refine.patience": INTEGRATED_PATIENCE, "refine.coarse_tolerance": None}
        own |= {"cut_share": CUT_SHARE}
    return preset(MAPPING_METHODS[method]).changed(own).changed({} if options is None else options)


def choose(
    name: choices.Preset,
    coarsening: choices.Coarsening | None = None,
    refinement: choices.Refinement | None = None,
    options: Options | Mapping[str, Any] | None = None,
) -> Options:
    """Return the options of a preset, with changes.

    Parameters
    ----------
    name : str
        Name of the preset; `default` if `options` is an Options.
    coarsening, refinement : str or None
        Another coarsening or refinement method. Another refinement method replaces all refinement
        options by its defaults.
    options : Options, mapping of str or None
        All options instead of the preset's, or values of single options by name
        (`Options.values`), which are set last.

    Raises
    ------
    OptionError
        If a name is unknown, a value is out of range, or both a preset and all options are given.
    """
    chosen = preset(name)
    if isinstance(options, Options):
        if name != "default":
            raise OptionError(f"preset is {name!r} and options is an Options; give one of them")
        chosen, options = options, None
    if coarsening is not None:
        one_of(get_args(choices.Coarsening), "coarsening", coarsening)
        chosen = chosen.changed({"coarsen.method": coarsening})
    if refinement is not None:
        one_of(get_args(choices.Refinement), "refinement", refinement)
        if refinement != chosen.refine.method:
            own = REFINER_DEFAULTS.get(refinement, RefineOptions(method=refinement))
            chosen = replace(chosen.changed({"refine.method": refinement}), refine=own)
    return chosen if options is None else chosen.changed(options)


def name_of(name: choices.Preset, options: Options | Mapping[str, Any] | None) -> str:
    """Return the name of the preset that `choose` starts from: CUSTOM if it is none."""
    if not isinstance(options, Options):
        return name
    return next((known for known, make in PRESETS.items() if make() == options), CUSTOM)


def differences(options: Options, base: Options | None) -> dict[str, Any]:
    """Return the options that differ from `base`; all options if it is None."""
    own = {} if base is None else base.values()
    return {
        option: value
        for option, value in options.values().items()
        if option not in own or own[option] != value
    }
