"""The mapping problem for a machine, and the problems for its upper levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jetpy import choices
from jetpy.errors import OptionError
from jetpy.graph.checks import one_of
from jetpy.problem.limits import limit_of_pes
from jetpy.problem.machine import Machine
from jetpy.problem.options import Options
from jetpy.problem.presets import preset
from jetpy.problem.problem import EDGE_CUT, Problem, make_problem, slack

METHODS: dict[str, choices.Preset] = {"im": "default", "hm": "default", "hm-ultra": "ultra"}
"""Preset of each method."""
OVERFILL, PATIENCE = 5, 12
"""Values for mapping that differ from partitioning (see `jetpy.problem.options`)."""
INTEGRATED_PATIENCE, CUT_SHARE = 6, 0.02
"""Further values for integrated mapping. Both `im` and `hm` have no V-cycles and branches."""


def options_of(method: str, options: Options | Mapping[str, Any] | None = None) -> Options:
    """Return the options of a method, with other values of some options by name, or all `options`.

    Raises
    ------
    OptionError
        If the method or an option is unknown, or a value is out of range.
    """
    one_of(METHODS, "method", method)
    if isinstance(options, Options):
        return options
    own: dict[str, Any] = {"refine.overfill": OVERFILL, "refine.patience": PATIENCE}
    if method != "hm-ultra":
        own |= {"branches": (), "cycles": 0}
    if method == "im":
        own |= {"refine.patience": INTEGRATED_PATIENCE, "cut_share": CUT_SHARE}
    return preset(METHODS[method]).changed(own).changed({} if options is None else options)


def make_mapping_problem(
    total_vertex_weight: int,
    machine: Machine,
    method: str,
    imbalance: float,
    seed: int,
    unit: int = 1,
    options: Options | Mapping[str, Any] | None = None,
) -> list[Problem]:
    """Check the arguments and return the problems, from the highest level to the whole machine.

    All vertex weights are multiples of `unit`. Limits of upper levels are computed in units.
    `options` as for `options_of`.

    Raises
    ------
    OptionError
        If a value is out of range, or the method is unknown or needs a hierarchy.
    """
    chosen = options_of(method, options)
    if method != "im" and not machine.hierarchy:
        raise OptionError(f"method {method} needs a hierarchy; give one, or use im")
    problem = make_problem(total_vertex_weight, machine.k, imbalance, seed, chosen)
    limit = limit_of_pes(total_vertex_weight, machine.k, problem.imbalance)
    steps, upper = [], machine.upper_levels()
    units = total_vertex_weight // unit
    share = slack(machine.k * (limit // unit), units, len(upper) + 1)
    for number, part in enumerate(upper, 1):
        step = make_problem(units, part.k, (1 + share) ** number - 1, seed, chosen)
        metric = EDGE_CUT if part.is_uniform else part.metric
        limit_of_step = unit * step.limit
        steps.append(replace(step, total=total_vertex_weight, limit=limit_of_step, metric=metric))
    return [*steps, replace(problem, limit=limit, metric=machine.metric)]
