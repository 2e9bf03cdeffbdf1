"""Experiments of Jet (Gilbert, Madduri, Boman and Rajamanickam, SISC 2024).

The paper's graphs, of 50 to 750 million nonzeros, are not included. Means are over the selected
graphs, and the column "graphs" names those of a class. Percentages of the text that are bounds have
a sign: ">0.9" is "more than 90 %".
"""

from __future__ import annotations

from bench.papers.jet import comparison, components, refinement, times

EXPERIMENTS = [
    *comparison.EXPERIMENTS,
    *times.EXPERIMENTS,
    *components.EXPERIMENTS,
    *refinement.EXPERIMENTS,
]
