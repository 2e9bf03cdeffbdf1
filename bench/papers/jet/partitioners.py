"""The partitioners and configurations of the paper on Jet (section 5), and their runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import product
from statistics import geometric_mean
from typing import Any

from bench.child import Unavailable
from bench.instances import Instance
from bench.papers.setting import Run, Setting
from jetpy.choices import Preset

JET = "Jet"
PEERS = {"KaMinPar": "kaminpar", "Metis": "pymetis", "Mt-KaHyPar-D": "mtkahypar"}
"""Tools that stand for the paper's partitioners."""
MISSING = ("mt-KaHIP MLS", "Mt-Metis HS")
"""The paper's partitioners without a package."""
OTHERS = (MISSING[0], "KaMinPar", MISSING[1], "Metis", "Mt-KaHyPar-D")
"""All other partitioners, in the paper's order."""
NEEDS = "KaMinPar, Mt-KaHyPar, pymetis; mt-KaHIP and Mt-Metis cannot be had"
PRESET: Preset = "jet"
"""jetpy's preset with the paper's options."""
CONFIGURATIONS = {
    "k = 32, 3%": (32, 0.03),
    "k = 64, 3%": (64, 0.03),
    "k = 128, 3%": (128, 0.03),
    "k = 256, 3%": (256, 0.03),
    "k = 128, 1%": (128, 0.01),
    "k = 128, 10%": (128, 0.1),
}
"""The paper's six numbers of parts and imbalances."""

Measure = Callable[[Iterable[Run]], float]
"""Returns one number for the runs of a case, such as `median_cut`."""
Case = tuple[str, str]
"""Names of a graph and a configuration."""


def configurations(setting: Setting) -> list[str]:
    """Return the names of all configurations; of the first one for a quick run."""
    return list(CONFIGURATIONS)[: 1 if setting.quick else None]


def runs(
    setting: Setting, name: str, instance: Instance, configuration: str, **how: Any
) -> list[Run]:
    """Return the runs of Jet or another partitioner in one case; `how` as for `Setting.runs`.

    Raises
    ------
    Unavailable
        If the partitioner is not installed.
    """
    k, imbalance = CONFIGURATIONS[configuration]
    if name == JET:
        return setting.runs(setting.jetpy, instance, k, preset=PRESET, imbalance=imbalance, **how)
    if name in MISSING:
        raise Unavailable(f"{name} has no package")
    return setting.runs(PEERS[name], instance, k, imbalance=imbalance)


def measured(
    setting: Setting, measure: Measure, instances: Iterable[Instance], names: Iterable[str]
) -> dict[str, dict[Case, float]]:
    """Return a number for each partitioner that is installed and each case.

    `names` are those of the configurations.
    """
    cases = [(instance, name) for instance in instances for name in names]

    def numbers(partitioner: str) -> dict[Case, float]:
        return {
            (instance.name, name): measure(runs(setting, partitioner, instance, name))
            for instance, name in cases
        }

    found = {JET: numbers(JET)}
    for partitioner in OTHERS:
        with suppress(Unavailable):
            found[partitioner] = numbers(partitioner)
    return found


def mean(
    setting: Setting,
    measure: Measure,
    instances: Iterable[Instance],
    names: Iterable[str],
    partitioner: str = JET,
    **how: Any,
) -> float:
    """Return the geometric mean of cuts or seconds over all graphs and configurations.

    `how` is for `runs`, which raises `Unavailable` if the partitioner is not installed.
    """
    return geometric_mean(
        measure(runs(setting, partitioner, instance, name, **how))
        for instance, name in product(instances, names)
    )
