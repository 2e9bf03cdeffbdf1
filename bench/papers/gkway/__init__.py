"""Experiments of G-kway (Lee et al., DAC 2024 and TODAES 2025), numbered as in the journal.

Table 1 and Figures 4 and 5 of the conference paper are Table 3 and Figures 9 and 10 of the journal.
Circuits that the folder of graphs lacks are generated, and all stand-ins are smaller than the
paper's graphs. The row or column "graph" names what was measured.
"""

from __future__ import annotations

from bench.papers.gkway import comparison, uncoarsening, variants

EXPERIMENTS = [*comparison.EXPERIMENTS, *variants.EXPERIMENTS, *uncoarsening.EXPERIMENTS]
