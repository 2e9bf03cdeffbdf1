"""The mapping problem for a machine, and the problems for its upper levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jetpy.errors import OptionError
from jetpy.graph.checks import as_numbers
from jetpy.problem.bounds import Bounds, bounded
from jetpy.problem.limits import limit_of_pes
from jetpy.problem.machine import Machine
from jetpy.problem.options import Options
from jetpy.problem.presets import mapping_options
from jetpy.problem.problem import EDGE_CUT, Problem, make_problem, slack


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
    `options` as for `mapping_options`.

    Raises
    ------
    OptionError
        If a value is out of range, or the method is unknown or needs a hierarchy.
    """
    chosen = mapping_options(method, options)
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


def bounded_steps(steps: list[Problem], bounds: Bounds, *, keeps_imbalance: bool) -> list[Problem]:
    """Return the problems with the caller's bounds on the weight of a PE.

    On upper levels, a part has the bounds of all its PEs together. `keeps_imbalance` as for
    `bounded`.

    Raises
    ------
    OptionError
        Under the conditions of `bounded`, or if bounds differ between PEs.
    """
    for name in ("min_weights", "max_weights"):
        if as_numbers(getattr(bounds, name), name).ndim > 0:
            raise OptionError(f"{name} has several numbers; a mapping needs one for all PEs")
    last = replace(bounded(steps[-1], bounds, keeps_imbalance=keeps_imbalance), targets=None)
    lower, upper = last.part_lower_limits, []
    for step in steps[:-1]:
        pes = last.k // step.k
        changed = replace(step, limit=min(step.limit, pes * int(last.limits[0])))
        if lower is not None:
            changed = replace(changed, part_lower_limits=pes * lower[: step.k])
        upper.append(changed)
    return [*upper, last]
