"""Experiments of G-kway (Lee et al., DAC 2024 and TODAES 2025), numbered as in the journal.

Circuits that the folder of graphs lacks are generated, and all stand-ins are smaller than the
paper's graphs. The row or column "graph" names what was measured.
"""

from __future__ import annotations

from bench.papers.gkway import uncoarsening, variants

EXPERIMENTS = [*variants.EXPERIMENTS, *uncoarsening.EXPERIMENTS]
