"""All experiments."""

from __future__ import annotations

from bench.papers import gkway, igkway, jet, mapping

EXPERIMENTS = [*jet.EXPERIMENTS, *gkway.EXPERIMENTS, *igkway.EXPERIMENTS, *mapping.EXPERIMENTS]
